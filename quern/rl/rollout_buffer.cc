#include "quern/rl/rollout_buffer.h"

#include <string>
#include <string_view>

#include "quern/base/error.h"

namespace quern::rl {
namespace {

template <class T>
Json list_of(const std::vector<T>& values) {
  Json j = Json::array();
  for (const T& v : values) {
    if constexpr (std::is_floating_point_v<T>)
      j.push(static_cast<double>(v));  // as written, it reads back to the same bits
    else
      j.push(static_cast<int64_t>(v));
  }
  return j;
}

template <class T>
std::vector<T> values_of(const Json& j, const char* what) {
  std::vector<T> out;
  for (const Json& x : j.as_array(what)) {
    if constexpr (std::is_floating_point_v<T>)
      out.push_back(static_cast<T>(x.as_double(what)));
    else
      out.push_back(static_cast<T>(x.as_int(what)));
  }
  return out;
}

// Two hexadecimal digits to an expert: a rollout has many times more of them than tokens.
std::string hex_of(const std::vector<uint8_t>& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const uint8_t b : bytes) out += kDigits[b >> 4], out += kDigits[b & 15];
  return out;
}

std::vector<uint8_t> bytes_of(const std::string& hex, const char* what) {
  const auto digit = [&](char c) -> uint8_t {
    if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
    fail("{}: '{}' is not a hexadecimal digit", what, c);
  };
  if (hex.size() % 2 != 0) fail("{}: {} hexadecimal digits, expected pairs", what, hex.size());
  std::vector<uint8_t> out;
  for (size_t i = 0; i < hex.size(); i += 2)
    out.push_back(static_cast<uint8_t>(digit(hex[i]) << 4 | digit(hex[i + 1])));
  return out;
}

Json to_json(const Rollout& r) {
  Json j = Json::object(), weights = Json::array();
  for (const WeightSpan& w : r.weights) weights.push(w.token), weights.push(w.version);
  j.set("tokens", list_of(r.record.tokens)), j.set("logprobs", list_of(r.record.logprobs));
  j.set("route_slots", r.record.routes.slots), j.set("routes", hex_of(r.record.routes.ids));
  j.set("weights", std::move(weights)), j.set("reward", r.reward), j.set("advantage", r.advantage);
  j.set("finished", r.finished), j.set("repeats", r.repeats), j.set("text", r.text), j.set("reason", r.reason);
  return j;
}

Rollout rollout_of(const Json& j) {
  const char* where = "rollout";
  Rollout r;
  r.record.tokens = values_of<int32_t>(j.at("tokens", where), "tokens");
  r.record.logprobs = values_of<float>(j.at("logprobs", where), "logprobs");
  r.record.routes.slots = j.at("route_slots", where).as_int("route_slots");
  r.record.routes.ids = bytes_of(j.at("routes", where).as_string("routes"), "routes");
  const std::vector<int64_t> weights = values_of<int64_t>(j.at("weights", where), "weights");
  if (weights.size() % 2 != 0) fail("weights of a rollout: {} numbers, expected pairs", weights.size());
  for (size_t i = 0; i < weights.size(); i += 2) r.weights.push_back({weights[i], weights[i + 1]});
  r.reward = j.at("reward", where).as_double("reward");
  r.advantage = j.at("advantage", where).as_double("advantage");
  r.finished = j.at("finished", where).as_bool("finished");
  r.repeats = j.at("repeats", where).as_bool("repeats");
  r.text = j.at("text", where).as_string("text"), r.reason = j.at("reason", where).as_string("reason");
  return r;
}

}  // namespace

Json to_json(const RolloutGroup& g) {
  Json j = Json::object(), rollouts = Json::array();
  j.set("environment", g.environment->name), j.set("key", g.problem.key), j.set("difficulty", g.problem.difficulty);
  j.set("seed", static_cast<int64_t>(g.problem_seed)), j.set("prompt", list_of(g.prompt));
  j.set("aggregates", g.aggregates), j.set("version", g.version);
  for (const Rollout& r : g.rollouts) rollouts.push(to_json(r));
  j.set("rollouts", std::move(rollouts));
  return j;
}

RolloutGroup rollout_group(const Json& j, const Environments& environments) {
  const char* where = "rollouts";
  RolloutGroup g;
  g.environment = &environments.find(j.at("environment", where).as_string("environment"));
  g.problem_seed = static_cast<uint64_t>(j.at("seed", where).as_int("seed"));
  g.prompt = values_of<int32_t>(j.at("prompt", where), "prompt");
  g.aggregates = j.at("aggregates", where).as_bool("aggregates");
  g.version = j.at("version", where).as_int("version");
  const int64_t difficulty = j.at("difficulty", where).as_int("difficulty");
  for (const Json& r : j.at("rollouts", where).as_array("rollouts")) g.rollouts.push_back(rollout_of(r));
  if (g.rollouts.empty())  // no problem of this difficulty was to be had
    g.problem.difficulty = difficulty;
  else
    g.problem = g.environment->generate(g.problem_seed, difficulty);
  if (const Json* key = j.find("key"); key && key->as_string("key") != g.problem.key)
    fail("'{}' has other problems than when the checkpoint was written, and answers to them wait in it",
         g.environment->name);
  return g;
}

Json to_json(const GroupUnderWay& at) {
  Json j = Json::object(), ended = Json::array();
  for (const bool e : at.ended) ended.push(e);
  j.set("id", at.id), j.set("seed", static_cast<int64_t>(at.seed)), j.set("ended", std::move(ended));
  j.set("group", to_json(at.group));
  return j;
}

GroupUnderWay group_under_way(const Json& j, const Environments& environments) {
  const char* where = "rollouts under way";
  GroupUnderWay at{.id = j.at("id", where).as_int("id"),
                   .seed = static_cast<uint64_t>(j.at("seed", where).as_int("seed")),
                   .group = rollout_group(j.at("group", where), environments),
                   .ended = {}};
  for (const Json& e : j.at("ended", where).as_array("ended")) at.ended.push_back(e.as_bool("ended"));
  if (at.ended.size() != at.group.rollouts.size())
    fail("rollouts under way: {} answers, {} of them known to have ended or not", at.group.rollouts.size(),
         at.ended.size());
  return at;
}

}  // namespace quern::rl
