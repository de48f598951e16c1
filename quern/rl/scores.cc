#include "quern/rl/scores.h"

#include "quern/base/error.h"

namespace quern::rl {

RolloutTokens rollout_tokens(std::span<const int32_t> prompt, std::span<const int32_t> answer) {
  RolloutTokens r;
  r.tokens.assign(prompt.begin(), prompt.end());
  r.tokens.insert(r.tokens.end(), answer.begin(), answer.end() - 1);
  r.targets.assign(prompt.size() - 1, -1);
  r.targets.insert(r.targets.end(), answer.begin(), answer.end());
  return r;
}

std::vector<float> pass_scores(models::Model& model, std::span<const int32_t> prompt,
                               const infer::RolloutRecord& record, const ScoreOptions& o) {
  const RolloutTokens r = rollout_tokens(prompt, record.tokens);
  mixers::Batch batch = mixers::Batch::single(static_cast<int64_t>(r.tokens.size()));
  if (o.routes == Routes::replayed && !record.routes.empty()) batch.replay_routes = &record.routes;
  batch.record_routes = o.seen;
  grad::Tape tape(grad::Tape::inference, o.precision);
  tape.bare = o.bare;
  std::vector<float> out;
  const grad::Var hidden = model.hidden(tape, r.tokens, batch);
  model.objective(tape, hidden,
                  {r.targets,
                   [&](int64_t, double logprob) {
                     out.push_back(static_cast<float>(logprob));
                     return kernels::TokenTerm{};
                   },
                   o.temperature});
  return out;
}

std::vector<infer::RolloutRecord> engine_scores(infer::Engine& engine, std::span<const RolloutGroup> groups) {
  std::vector<infer::Engine::Id> ids;
  for (const RolloutGroup& g : groups)
    for (const Rollout& r : g.rollouts) {
      infer::Request q{.prompt = g.prompt};
      q.options.forced = r.record.tokens;
      q.options.record = true;
      q.options.max_tokens = static_cast<int64_t>(r.record.tokens.size());
      ids.push_back(engine.submit(std::move(q)));
    }
  while (engine.step()) {
  }
  std::vector<infer::RolloutRecord> out;
  for (const infer::Engine::Id id : ids) {
    infer::Generated g = *engine.take(id);
    if (g.finish == "error") fail("a rollout could not be scored: {}", g.error);
    out.push_back(std::move(*g.record));
  }
  return out;
}

}  // namespace quern::rl
