// Sequence: the engine's record of one request: its tokens, the state that has processed them, its sampler, and the
// result so far.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/engine/constrained_sampler.h"
#include "quern/infer/engine/request.h"
#include "quern/infer/sampling/text_stream.h"
#include "quern/infer/speculation/speculation.h"

namespace quern::infer {

struct Sequence {
  using Clock = std::chrono::steady_clock;

  int64_t id = 0;
  Request r;
  std::vector<int32_t> tokens;  // prompt and output
  std::string variant;          // of the model: choice_key of its adapters
  int64_t prompt = 0;
  size_t forced_prefix = 0;                         // tokens of the output that bypass the constraint
  int64_t max_length = 0;                           // prompt and output at their longest
  int64_t max_rows = 0;                             // of its KV cache then; with shards, those of this rank
  int64_t state_bytes = 0;                          // memory its state needs then
  mixers::SequenceState state;                      // after the first state.length() of them
  std::map<int64_t, SnapshotKind> snapshot_points;  // positions in the prompt to take snapshots at
  Sampler sampler;
  std::unique_ptr<TextStream> text;
  std::optional<ConstrainedSampler> constrained;  // from the first token sampled under a constraint on
  std::optional<Speculation> ahead;               // with speculative decoding
  Generated out;
  Clock::time_point started, first_token, ended;
  int64_t charged = 0;  // generated tokens that its user's share has been charged with
  bool alone = false;   // a step with it failed: it runs alone until one succeeds

  Sequence(Request request, int64_t max_positions)
      : r(std::move(request)),
        tokens(r.prompt),
        variant(nn::choice_key(r.options.adapters)),
        prompt(static_cast<int64_t>(tokens.size())),
        forced_prefix(r.options.forced.size()),
        max_length(std::min(prompt + r.options.max_tokens, max_positions)),
        max_rows(max_length),
        sampler(r.options.sampling) {
    sampler.accept_prompt(tokens);
    out.prompt_tokens = prompt;
    if (r.options.record) out.record.emplace();
  }
  PrefixText text_until(int64_t n) const { return {std::span(tokens).first(static_cast<size_t>(n)), variant}; }
  int64_t fed() const { return state.length(); }
  SpeculationOptions speculation() const { return r.options.speculate.value_or(SpeculationOptions{}); }
  bool samples_freely() const {  // the next token depends on its sampler only
    return !r.options.constraint && out.tokens.size() >= r.options.forced.size() && r.options.max_tokens > 0;
  }
  int64_t pending() const { return static_cast<int64_t>(tokens.size()) - fed(); }
  // Decoding: everything pending goes into the next step, which yields a token: one row, or with it accepted draft
  // tokens that a rollback went back before.
  bool answering() const { return pending() == 1 || (fed() >= prompt && pending() <= kMaxDraftTokens + 1); }
  std::span<const int32_t> draft() const { return ahead ? ahead->draft() : std::span<const int32_t>(); }
  // Rolls back the part of the draft that was rejected.
  void settle() {
    const auto drafted = static_cast<int64_t>(draft().size()), first = fed() - drafted;
    const auto given = std::span(tokens).subspan(static_cast<size_t>(first));
    const auto right =
        std::mismatch(draft().begin(), draft().end(), given.begin(), given.end()).first - draft().begin();
    out.speculated.record_acceptance(drafted, right);
    ahead->settle(state, right);
  }
  // Tokens to come next, given instead of sampled; false while the request's own forced prefix lasts.
  bool force_next(std::span<const int32_t> next) {
    std::vector<int32_t>& forced = r.options.forced;
    if (out.tokens.size() < forced.size()) return false;
    if (r.options.constraint && !constrained) constrained.emplace(*r.options.constraint);
    forced = out.tokens;
    forced.insert(forced.end(), next.begin(), next.end());
    return true;
  }
  // Samples the next token from its logits.
  TokenLogprob sample(std::span<const float> logits) {
    const GenerateOptions& g = r.options;
    const auto step = static_cast<uint64_t>(tokens.size());
    if (!g.constraint) return sampler.next(logits, step);
    if (!constrained) constrained.emplace(*g.constraint);
    return constrained->next(sampler, logits, step, g.stop_ids);
  }
};

}  // namespace quern::infer
