#include "quern/rl/rollout_buffer.h"

#include <string>

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

Json to_json(const Rollout& r) {
  Json j = Json::object();
  j.set("tokens", list_of(r.record.tokens)), j.set("logprobs", list_of(r.record.logprobs));
  j.set("route_slots", r.record.routes.slots), j.set("routes", list_of(r.record.routes.ids));
  j.set("reward", r.reward), j.set("advantage", r.advantage), j.set("finished", r.finished);
  j.set("repeats", r.repeats), j.set("text", r.text), j.set("reason", r.reason);
  return j;
}

Rollout rollout_of(const Json& j) {
  Rollout r;
  r.record.tokens = values_of<int32_t>(j.at("tokens", "rollout"), "tokens");
  r.record.logprobs = values_of<float>(j.at("logprobs", "rollout"), "logprobs");
  r.record.routes.slots = j.at("route_slots", "rollout").as_int("route_slots");
  r.record.routes.ids = values_of<uint8_t>(j.at("routes", "rollout"), "routes");
  r.reward = j.at("reward", "rollout").as_double("reward");
  r.advantage = j.at("advantage", "rollout").as_double("advantage");
  r.finished = j.at("finished", "rollout").as_bool("finished");
  r.repeats = j.at("repeats", "rollout").as_bool("repeats");
  r.text = j.at("text", "rollout").as_string("text"), r.reason = j.at("reason", "rollout").as_string("reason");
  return r;
}

}  // namespace

Json to_json(const std::vector<RolloutGroup>& groups) {
  Json all = Json::array();
  for (const RolloutGroup& g : groups) {
    Json j = Json::object(), rollouts = Json::array();
    j.set("environment", g.environment->name), j.set("difficulty", g.problem.difficulty);
    j.set("seed", static_cast<int64_t>(g.problem_seed)), j.set("prompt", list_of(g.prompt));
    j.set("version", g.version);
    for (const Rollout& r : g.rollouts) rollouts.push(to_json(r));
    j.set("rollouts", std::move(rollouts));
    all.push(std::move(j));
  }
  return all;
}

std::vector<RolloutGroup> rollout_groups(const Json& j, const gym::EnvironmentRegistry& environments) {
  std::vector<RolloutGroup> out;
  for (const Json& x : j.as_array("rollouts of the checkpoint")) {
    RolloutGroup& g = out.emplace_back();
    g.environment = &environments.find(x.at("environment", "rollouts").as_string("environment"));
    g.problem_seed = static_cast<uint64_t>(x.at("seed", "rollouts").as_int("seed"));
    g.problem = g.environment->generate(g.problem_seed, x.at("difficulty", "rollouts").as_int("difficulty"));
    g.prompt = values_of<int32_t>(x.at("prompt", "rollouts"), "prompt");
    g.version = x.at("version", "rollouts").as_int("version");
    for (const Json& r : x.at("rollouts", "rollouts").as_array("rollouts")) g.rollouts.push_back(rollout_of(r));
  }
  return out;
}

}  // namespace quern::rl
