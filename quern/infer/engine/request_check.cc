// Prompt, token ids, stop strings and speculative decoding of a request against the engine's limits.
#include "quern/infer/engine/request_check.h"

#include "quern/base/error.h"
#include "quern/models/token_ids.h"

namespace quern::infer {

void check_request(const Request& r, const RequestLimits& limits) {
  if (r.prompt.empty()) fail("the prompt is empty: give at least one token");
  if (r.options.max_tokens < (r.options.score_prompt ? 0 : 1))
    fail("max_tokens {}: expected at least 1", r.options.max_tokens);
  const auto n = static_cast<int64_t>(r.prompt.size());
  if (n > limits.max_positions) fail("the prompt has {} tokens; this model's limit is {}", n, limits.max_positions);
  models::check_token_ids(r.prompt, limits.vocab_size, "prompt");
  models::check_token_ids(r.options.forced, limits.vocab_size, "forced");
  if (!r.options.stop.empty() && !limits.tokenizer) fail("stop strings need a tokenizer");
  if (r.options.record && (r.options.constraint || !r.options.stop.empty()))
    fail("a recorded rollout takes no constraint and no stop strings: they are not part of the policy");
  if (r.options.record && r.options.speculate && r.options.speculate->on())
    fail("a recorded rollout cannot use speculative decoding");
  if (r.options.speculate) check_speculation(*r.options.speculate, limits);
}

void check_speculation(const SpeculationOptions& g, const RequestLimits& limits) {
  if (g.max_draft < 0 || g.max_draft > kMaxDraftTokens)
    fail("speculative decoding: draft length {}: expected 1 to {}, or 0 for none", g.max_draft, kMaxDraftTokens);
  if (g.on() && !g.ngram && !g.draft)
    fail("speculative decoding: draft length {} but no draft source; enable ngram or draft", g.max_draft);
  if (g.on() && limits.sharded_cache)
    fail("speculative decoding: a KV cache sharded over ranks cannot be rolled back");
  if (g.draft && !limits.draft_model) fail("speculative decoding: this model has no draft model");
}

}  // namespace quern::infer
