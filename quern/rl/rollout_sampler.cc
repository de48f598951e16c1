#include "quern/rl/rollout_sampler.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/infer/sampling/text_stream.h"
#include "quern/reason/trace.h"
#include "quern/rl/repetition.h"
#include "quern/text/chat/aggregation_prompt.h"
#include "quern/text/chat/chat_prompt.h"
#include "quern/text/chat/message.h"

namespace quern::rl {
namespace {

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

// What weights of another version have sampled behind it. Tokens that were routed before keep their routes.
void append(infer::RolloutRecord& to, const infer::RolloutRecord& more) {
  to.tokens.insert(to.tokens.end(), more.tokens.begin(), more.tokens.end());
  to.logprobs.insert(to.logprobs.end(), more.logprobs.begin(), more.logprobs.end());
  to.routes.slots = more.routes.slots;
  if (more.routes.ids.size() <= to.routes.ids.size()) return;
  to.routes.ids.insert(to.routes.ids.end(), more.routes.ids.begin() + std::ssize(to.routes.ids),
                       more.routes.ids.end());
}

std::string text_of(const text::Tokenizer& tokenizer, std::span<const int32_t> tokens) {
  infer::TextStream stream(tokenizer, {});
  std::string text;
  for (const int32_t t : tokens) text += stream.push(t);
  return text + stream.finish();
}

}  // namespace

RolloutSampler::RolloutSampler(infer::Engine& engine, const text::Tokenizer& tokenizer,
                               const text::ChatTemplate& chat_template, RolloutOptions options)
    : engine_(engine), tokenizer_(tokenizer), chat_template_(chat_template), o_(std::move(options)) {
  if (o_.stop_ids.empty())
    fail(
        "reinforcement learning: the model has no token that ends an answer (eos_token_id in "
        "generation_config.json)");
}

std::vector<int32_t> RolloutSampler::prompt_of(const gym::Problem& p) const {
  return text::chat_prompt(chat_template_, tokenizer_, text::user_message(p.question)).encode(tokenizer_);
}

std::vector<int32_t> RolloutSampler::aggregation_prompt_of(const RolloutGroup& g, std::span<const int64_t> answers,
                                                           int64_t tail) const {
  std::vector<std::vector<int32_t>> tails;
  for (const int64_t i : answers) {
    const std::span<const int32_t> tokens = g.rollouts[static_cast<size_t>(i)].record.tokens;
    const reason::Trace trace = reason::read_trace(tokens, tokenizer_, infer::ThinkStart::may_open);
    tails.push_back(reason::tail_of(tokens, trace, tail));
  }
  return text::aggregation_prompt(chat_template_, tokenizer_, text::user_message(g.problem.question), tails);
}

bool RolloutSampler::fits(std::span<const int32_t> prompt) const {
  return o_.max_length == 0 || std::ssize(prompt) < o_.max_length;
}

int64_t RolloutSampler::room(const RolloutGroup& g) const {
  const auto prompt = static_cast<int64_t>(g.prompt.size());
  return o_.max_length > 0 ? std::min(o_.max_tokens, o_.max_length - prompt) : o_.max_tokens;
}

void RolloutSampler::start(RolloutRequest request, int64_t version) {
  Running r{.at = {.id = request.id, .seed = request.seed, .group = {}, .ended = {}}, .ids = {}};
  RolloutGroup& g = r.at.group;
  g.environment = request.environment, g.problem = std::move(request.problem);
  g.problem_seed = request.problem_seed, g.aggregates = request.aggregates;
  g.prompt = request.prompt.empty() ? prompt_of(g.problem) : std::move(request.prompt);
  if (!fits(g.prompt))
    fail("a problem of '{}' at difficulty {} takes {} tokens, more than {}", g.environment->name,
         g.problem.difficulty, g.prompt.size(), o_.max_length);
  g.rollouts.resize(static_cast<size_t>(o_.group));
  r.at.ended.assign(static_cast<size_t>(o_.group), false);
  submit(r, version);
  running_.push_back(std::move(r));
}

// Sampling depends on seed and position, so an answer that goes on draws what it would have drawn without the pause.
void RolloutSampler::submit(Running& r, int64_t version) {
  RolloutGroup& g = r.at.group;
  r.ids.assign(g.rollouts.size(), 0), g.version = version;
  for (size_t i = 0; i < g.rollouts.size(); ++i) {
    Rollout& answer = g.rollouts[i];
    const auto sampled = static_cast<int64_t>(answer.record.tokens.size());
    if (!r.at.ended[i]) {
      if (sampled == 0) answer.weights.clear();
      if (answer.weights.empty() || answer.weights.back().version != version)
        answer.weights.push_back({sampled, version});
      infer::Request q{.prompt = g.prompt};
      q.prompt.insert(q.prompt.end(), answer.record.tokens.begin(), answer.record.tokens.end());
      q.options.sampling.temperature = o_.temperature;
      q.options.sampling.seed = mix64(r.at.seed + static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ull);
      q.options.max_tokens = room(g) - sampled, q.options.stop_ids = o_.stop_ids, q.options.record = true;
      r.ids[i] = engine_.submit(std::move(q));
    }
    g.version = std::min(g.version, answer.weights.front().version);
  }
}

bool RolloutSampler::collect(Running& r) {
  for (size_t i = 0; i < r.ids.size(); ++i) {
    if (r.at.ended[i]) continue;
    auto answer = engine_.take(r.ids[i]);
    if (!answer) continue;
    if (answer->finish == "error") fail("an answer could not be sampled: {}", answer->error);
    append(r.at.group.rollouts[i].record, *answer->record);
    r.at.ended[i] = answer->finish != "cancelled";
    r.at.group.rollouts[i].finished = answer->finish == "stop";
  }
  return std::find(r.at.ended.begin(), r.at.ended.end(), false) == r.at.ended.end();
}

bool RolloutSampler::step() {
  if (running_.empty()) return false;
  engine_.step();
  for (Running& r : running_) {
    if (!collect(r)) continue;
    judge(r.at.group);
    finished_.push_back({r.at.id, std::move(r.at.group)});
    r.ids.clear();
  }
  std::erase_if(running_, [](const Running& r) { return r.ids.empty(); });
  return true;
}

std::vector<FinishedGroup> RolloutSampler::take() { return std::exchange(finished_, {}); }

void RolloutSampler::pause() {
  for (const Running& r : running_)
    for (size_t i = 0; i < r.ids.size(); ++i)
      if (!r.at.ended[i]) engine_.cancel(r.ids[i]);
  while (engine_.step()) {
  }
  for (Running& r : running_) {
    collect(r);
    paused_.push_back(std::move(r.at));
  }
  running_.clear();
  // A checkpoint has them in this order too: which place in a batch an answer has shows in its last bits.
  std::ranges::sort(paused_, {}, &GroupUnderWay::id);
}

void RolloutSampler::resume(int64_t version) {
  for (GroupUnderWay& at : std::exchange(paused_, {})) {
    Running& r = running_.emplace_back(Running{.at = std::move(at), .ids = {}});
    submit(r, version);
  }
}

std::vector<int64_t> RolloutSampler::drop_older(int64_t version) {
  std::vector<int64_t> dropped;
  std::erase_if(paused_, [&](const GroupUnderWay& at) {
    const bool old = at.group.version < version;
    if (old) dropped.push_back(at.id);
    return old;
  });
  return dropped;
}

void RolloutSampler::clear() {
  pause();
  paused_.clear(), finished_.clear();
}

// Verdicts are functions of problem and answer: which thread gives them does not show.
void RolloutSampler::judge(RolloutGroup& g) const {
  share_routes(g.rollouts);
  std::vector<std::exception_ptr> failed(g.rollouts.size());
  parallel_dynamic(std::ssize(g.rollouts), [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    try {
      judge(g, g.rollouts[at]);
    } catch (...) {
      failed[at] = std::current_exception();
    }
  });
  for (const std::exception_ptr& e : failed)
    if (e) std::rethrow_exception(e);
}

void RolloutSampler::judge(const RolloutGroup& group, Rollout& r) const {
  const std::span<const int32_t> tokens(r.record.tokens);
  r.text = text_of(tokenizer_, r.finished ? tokens.first(tokens.size() - 1) : tokens);  // without the stop token
  r.repeats = min_compression(tokens) < o_.min_compression;
  if (!r.finished) {
    r.reason = "the answer did not end";
  } else if (r.repeats) {
    r.reason = "the answer repeats itself";
  } else {
    const gym::Verdict v = group.environment->verify(group.problem, r.text);
    r.reward = v.reward, r.reason = v.reason;
  }
}

std::vector<RolloutGroup> RolloutSampler::run(std::vector<RolloutRequest> requests, int64_t version) {
  std::vector<RolloutGroup> out(requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].id = static_cast<int64_t>(i);
    start(std::move(requests[i]), version);
  }
  while (step()) {
  }
  for (FinishedGroup& f : take()) out[static_cast<size_t>(f.id)] = std::move(f.group);
  return out;
}

}  // namespace quern::rl
