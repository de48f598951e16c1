#include "quern/rl/rollouts.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/rl/repetition.h"
#include "quern/text/chat/chat_prompt.h"

namespace quern::rl {
namespace {

Json asked(const std::string& question) {
  Json message = Json::object(), list = Json::array();
  message.set("role", "user"), message.set("content", question);
  list.push(std::move(message));
  return list;
}

// Routes of a prompt that an earlier member of the group had computed and this one took from the prefix cache.
void share_routes(std::vector<Rollout>& group) {
  for (Rollout& r : group) {
    nn::ExpertRoutes& mine = r.record.routes;
    for (const Rollout& other : group) {
      const nn::ExpertRoutes& theirs = other.record.routes;
      for (size_t i = 0; i < mine.ids.size() && i < theirs.ids.size() && mine.ids[i] == nn::ExpertRoutes::kFree; ++i)
        mine.ids[i] = theirs.ids[i];
    }
  }
}

}  // namespace

std::vector<double> RolloutGroup::rewards() const {
  std::vector<double> out;
  for (const Rollout& r : rollouts) out.push_back(r.reward);
  return out;
}

double RolloutGroup::mean_reward() const {
  const std::vector<double> r = rewards();
  return r.empty() ? 0 : std::accumulate(r.begin(), r.end(), 0.0) / static_cast<double>(r.size());
}

double RolloutGroup::share_solved() const {
  const auto solved = std::count_if(rollouts.begin(), rollouts.end(), [](const Rollout& r) { return r.reward == 1; });
  return rollouts.empty() ? 0 : static_cast<double>(solved) / static_cast<double>(rollouts.size());
}

RolloutSampler::RolloutSampler(infer::Engine& engine, const text::Tokenizer& tokenizer,
                               const text::ChatTemplate& chat_template, RolloutOptions options)
    : engine_(engine), tokenizer_(tokenizer), chat_template_(chat_template), o_(std::move(options)) {
  if (o_.stop_ids.empty())
    fail(
        "reinforcement learning: the model has no token that ends an answer (eos_token_id in "
        "generation_config.json)");
}

std::vector<int32_t> RolloutSampler::prompt_of(const gym::Problem& p) const {
  return text::chat_prompt(chat_template_, tokenizer_, asked(p.question)).encode(tokenizer_);
}

bool RolloutSampler::fits(const gym::Problem& p) const {
  return o_.max_length == 0 || static_cast<int64_t>(prompt_of(p).size()) < o_.max_length;
}

Rollout RolloutSampler::judged(const RolloutGroup& group, infer::Generated answer) const {
  Rollout r;
  if (answer.finish == "error") fail("an answer could not be sampled: {}", answer.error);
  r.record = std::move(*answer.record), r.text = std::move(answer.text);
  r.finished = answer.finish == "stop";
  r.repeats = min_compression(r.record.tokens) < o_.min_compression;
  if (!r.finished) {
    r.reason = "the answer did not end";
  } else if (r.repeats) {
    r.reason = "the answer repeats itself";
  } else {
    const gym::Verdict v = group.environment->verify(group.problem, r.text);
    r.reward = v.reward, r.reason = v.reason;
  }
  return r;
}

std::vector<RolloutGroup> RolloutSampler::run(std::vector<Ask> asks, int64_t version) {
  std::vector<RolloutGroup> groups;
  std::vector<infer::Engine::Id> ids;
  for (Ask& a : asks) {
    RolloutGroup& g = groups.emplace_back();
    g.environment = a.environment, g.problem = std::move(a.problem), g.problem_seed = a.problem_seed;
    g.prompt = prompt_of(g.problem), g.version = version;
    const auto length = static_cast<int64_t>(g.prompt.size());
    const int64_t room = o_.max_length > 0 ? std::min(o_.max_tokens, o_.max_length - length) : o_.max_tokens;
    if (room < 1)
      fail("a problem of '{}' at difficulty {} takes {} tokens, more than {}", g.environment->name,
           g.problem.difficulty, length, o_.max_length);
    for (int64_t i = 0; i < o_.group; ++i) {
      infer::Request r{.prompt = g.prompt};
      r.options.sampling.temperature = o_.temperature;
      r.options.sampling.seed = mix64(a.seed + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ull);
      r.options.max_tokens = room, r.options.stop_ids = o_.stop_ids, r.options.record = true;
      ids.push_back(engine_.submit(std::move(r)));
    }
  }
  while (engine_.step()) {
  }
  const auto each = static_cast<size_t>(o_.group);
  for (RolloutGroup& g : groups) g.rollouts.resize(each);
  // Verdicts are functions of problem and answer: which thread gives them does not show.
  std::vector<std::exception_ptr> failed(ids.size());
  parallel_dynamic(static_cast<int64_t>(ids.size()), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    RolloutGroup& g = groups[at / each];
    try {
      g.rollouts[at % each] = judged(g, std::move(*engine_.take(ids[at])));
    } catch (...) {
      failed[at] = std::current_exception();
    }
  });
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
  for (RolloutGroup& g : groups) share_routes(g.rollouts);
  return groups;
}

}  // namespace quern::rl
