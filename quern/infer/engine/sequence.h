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
#include <utility>
#include <vector>

#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/engine/constrained_sampler.h"
#include "quern/infer/engine/request.h"
#include "quern/infer/sampling/text_stream.h"
#include "quern/infer/speculation/speculation.h"

namespace quern {

struct Sequence {
  using Clock = std::chrono::steady_clock;

  int64_t id = 0;
  Request r;
  std::vector<int32_t> tokens;  // prompt and answer
  int64_t prompt = 0;
  SequenceState state;                              // has seen the first state.length() of them
  std::map<int64_t, SnapshotKind> snapshot_points;  // of the prompt, for snapshots
  Sampler sampler;
  std::unique_ptr<TextStream> text;
  std::optional<ConstrainedSampler> constrained;  // once a token is sampled under a constraint
  std::optional<Speculation> ahead;               // where tokens are guessed
  Generated out;
  Clock::time_point started, first_token;
  bool alone = false;  // a step it was part of failed: it goes by itself until one succeeds

  explicit Sequence(int64_t i, Request request)
      : id(i),
        r(std::move(request)),
        tokens(r.prompt),
        prompt(static_cast<int64_t>(tokens.size())),
        sampler(r.options.sampling) {
    sampler.accept_prompt(tokens);
    out.prompt_tokens = prompt;
  }
  int64_t fed() const { return state.length(); }
  bool samples_freely() const {  // the next token is its sampler's alone
    return !r.options.constraint && out.tokens.size() >= r.options.forced.size() && r.options.max_tokens > 0;
  }
  int64_t pending() const { return static_cast<int64_t>(tokens.size()) - fed(); }
  // All that is pending goes into the next step, and a token comes of it: one row, or with it those of right guesses
  // that a state had to go back before.
  bool answering() const { return pending() == 1 || (fed() >= prompt && pending() <= kMaxDraftTokens + 1); }
  std::span<const int32_t> draft() const { return ahead ? ahead->draft() : std::span<const int32_t>(); }
  // What was fed of a draft and is not the answer's is forgotten.
  void settle() {
    const auto drafted = static_cast<int64_t>(draft().size()), first = fed() - drafted;
    const auto given = std::span(tokens).subspan(static_cast<size_t>(first));
    const auto right =
        std::mismatch(draft().begin(), draft().end(), given.begin(), given.end()).first - draft().begin();
    out.speculated.record_acceptance(drafted, right);
    ahead->settle(state, right);
  }
  // The next token, drawn from its logits.
  TokenLogprob sample(std::span<const float> logits) {
    const GenerateOptions& g = r.options;
    const auto step = static_cast<uint64_t>(tokens.size());
    if (!g.constraint) return sampler.next(logits, step);
    if (!constrained) constrained.emplace(*g.constraint);
    return constrained->next(sampler, logits, step, g.stop_ids);
  }
};

}  // namespace quern
