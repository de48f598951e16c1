// A generation request, its options, and its result.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/infer/engine/rollout_record.h"
#include "quern/infer/sampling/constraint.h"
#include "quern/infer/sampling/sampler.h"
#include "quern/infer/speculation/speculation_options.h"
#include "quern/nn/row_adapters.h"

namespace quern::infer {

struct GenerateOptions {
  SamplingOptions sampling = {};
  int64_t max_tokens = 256;
  std::vector<int64_t> stop_ids = {};
  std::vector<std::string> stop = {};  // stop strings; need a tokenizer
  // Forced prefix (assistant prefill): the first output tokens, given instead of sampled; their logprobs are reported.
  std::vector<int32_t> forced = {};
  int64_t top_logprobs = 0;  // alternatives reported with each token
  // Also record what a learner needs (rollout_record.h). Not with constraints, stop strings or
  // speculative decoding. Forced tokens are recorded under the untouched distribution.
  bool record = false;
  // Report the prompt's own logprobs; max_tokens may then be 0. The prefix cache is not used.
  bool score_prompt = false;
  std::shared_ptr<const ConstraintSource> constraint = {};  // constrained decoding
  // Speculative decoding; by default as the engine's options say. The output is unchanged up to rounding.
  std::optional<SpeculationOptions> speculate = {};
  // Adapters of this request's rows, of a model that has places for them (models/adapter_sites.h); draft models have none.
  nn::ChosenAdapters adapters = {};
  // Waiting requests are admitted by priority, lower values first, and then so that users get equal shares of the tokens
  // (fair_share.h).
  int64_t priority = 0;
  std::string user = {};
  template <class V>
  void visit(V& v) {
    v("max_tokens", max_tokens, "maximum number of tokens to generate",
      {.flag = "-n,--max-tokens", .old_flags = "--tokens", .in_request = false});
    sampling.visit(v);
    v("stop", stop, "stop sequence: ends the output and is not printed; repeatable",
      {.max_items = 16, .max_bytes = 1024});
    v("top_logprobs", top_logprobs, "report the N most likely tokens of every position",
      {.flag = "--logprobs", .range = Bounds::at_least(0), .in_request = false});
  }
};

struct Emitted {
  int32_t token = -1;  // −1: only the text held back until the end
  double logprob = 0;
  std::string_view text;                   // text that this token completed: whole characters, possibly none
  std::span<const TokenLogprob> top = {};  // alternatives, when asked for
};

struct Request {
  std::vector<int32_t> prompt = {};
  GenerateOptions options = {};
  // Positions in the prompt worth a snapshot: ends of turns, where other requests will branch off.
  std::vector<int64_t> turn_ends = {};
  std::function<bool(const Emitted&)> on_token = {};  // between steps; false cancels. Never called for a stop id.
};

// Statistics of speculative decoding by position in the draft: tokens drafted, and tokens accepted.
struct Speculated {
  std::array<int64_t, kMaxDraftTokens> drafted = {}, accepted = {};
  int64_t steps = 0;  // that verified a draft
  void record_acceptance(int64_t n_drafted, int64_t n_accepted) {
    for (int64_t i = 0; i < n_drafted; ++i) ++drafted[static_cast<size_t>(i)];
    for (int64_t i = 0; i < n_accepted; ++i) ++accepted[static_cast<size_t>(i)];
    ++steps;
  }
  int64_t all_drafted() const { return std::accumulate(drafted.begin(), drafted.end(), int64_t{0}); }
  int64_t all_accepted() const { return std::accumulate(accepted.begin(), accepted.end(), int64_t{0}); }
  Speculated& operator+=(const Speculated& o) {
    for (size_t i = 0; i < drafted.size(); ++i) drafted[i] += o.drafted[i], accepted[i] += o.accepted[i];
    steps += o.steps;
    return *this;
  }
};

struct Generated {
  std::vector<int32_t> tokens;  // stop id not included
  std::vector<double> logprobs;
  std::vector<std::vector<TokenLogprob>> top;  // per token, when asked for
  std::vector<double> prompt_logprobs;         // of the prompt's tokens from the second on, when asked for
  std::vector<std::vector<TokenLogprob>> prompt_top;
  std::string text;    // when the engine has a tokenizer; without the stop string
  std::string finish;  // "stop", "length", "cancelled", "error"
  std::string error;   // of "error": what went wrong and what to change
  int64_t prompt_tokens = 0, cached_tokens = 0, recomputed_tokens = 0;  // prompt = cached + recomputed
  std::string cache_note;                                               // why not more was cached
  Speculated speculated;
  std::optional<RolloutRecord> record;  // when asked for
  double prompt_seconds = 0;            // from the first step to the first token
  double decode_seconds = 0;
};

}  // namespace quern::infer
