// Settings of sampling, declared once: the flags of `quern run`, request fields, the C interface, what a model's
// generation_config.json gives, and the table in docs/run.md all follow visit(). sampler.h says what each step does.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "quern/base/setting.h"

namespace quern::infer {

enum class SampleStep { penalties, dry, temperature, top_n_sigma, top_k, typical_p, top_p, min_p, xtc };
// By their names (typical_p is typ_p, too); throws Error naming a word it does not know, or finds twice.
std::vector<SampleStep> sample_order(const std::vector<std::string>& names);
std::vector<SampleStep> parse_sample_order(const std::string& text);  // with commas between

struct TokenBias {
  int32_t token = 0;
  double bias = 0;
};

// Settings as text: "top_k,temperature"; "17=-5.5,18=1".
void parse_setting(const std::string& text, std::vector<SampleStep>& order);
void parse_setting(const std::string& text, std::vector<TokenBias>& biases);
std::string setting_text(const std::vector<SampleStep>& order);

// DRY ("don't repeat yourself") repetition penalty (sampler_dry.h).
struct DryOptions {
  double multiplier = 0;
  double base = 1.75;
  int64_t allowed_length = 2;
  int64_t last_n = -1;
  std::vector<std::string> breakers = {"\n", ":", "\"", "*"};
  std::function<std::string(int32_t)> text = {};  // of a token; without it nothing breaks
  bool on() const { return multiplier != 0 && last_n != 0; }
  template <class V>
  void visit(V& v) {
    v("dry_multiplier", multiplier,
      "DRY repetition penalty: subtracted from the logit of a token that would extend a repetition; 0 disables it",
      {.range = Bounds::between(0, 1e4)});
    v("dry_base", base, "DRY: factor of the penalty per further repeated token", {.range = Bounds::between(1, 1e4)});
    v("dry_allowed_length", allowed_length, "DRY: minimum length of a penalized repetition, in tokens",
      {.range = Bounds::at_least(1), .request = Bounds::between(1, 2147483648.0)});
    v("dry_penalty_last_n", last_n,
      "DRY: number of most recent tokens to search for repetitions; -1 searches all, 0 disables it",
      {.range = Bounds::at_least(-1), .request = Bounds::between(-1, 2147483648.0)});
    v("dry_sequence_breakers", breakers, "DRY: text that ends a repetition; repeatable",
      {.flag = "--dry-sequence-breaker",
       .shown_default = "line end, ':', '\"' and '*'",
       .max_items = 64,
       .max_bytes = 64});
  }
};

struct SamplingOptions {
  double temperature = 1;
  int64_t top_k = 0;  // 0 = off
  double top_p = 1;   // 1 = off
  double min_p = 0;   // 0 = off
  uint64_t seed = 0;
  double repetition_penalty = 1;                       // 1 = off
  double presence_penalty = 0, frequency_penalty = 0;  // 0 = off
  std::vector<TokenBias> logit_bias = {};              // added to the logit; −100 bans, in effect
  std::vector<SampleStep> order = {SampleStep::penalties,   SampleStep::dry,   SampleStep::temperature,
                                   SampleStep::top_n_sigma, SampleStep::top_k, SampleStep::typical_p,
                                   SampleStep::top_p,       SampleStep::min_p, SampleStep::xtc};
  double typical_p = 1;                             // 1 = off
  double xtc_probability = 0, xtc_threshold = 0.1;  // probability 0 = off
  double top_n_sigma = 0;                           // 0 or less = off
  DryOptions dry = {};
  template <class V>
  void visit(V& v) {
    constexpr const char* kFromModel = "from generation_config.json";
    v("temperature", temperature, "sampling temperature; 0 is greedy decoding",
      {.flag = "--temp",
       .shown_default = kFromModel,
       .range = Bounds::at_least(0),
       .request = Bounds::between(0, 100),
       .in_model = InModel::sampled});
    v("top_p", top_p, "nucleus sampling: keep the most likely tokens until their probabilities sum to P",
      {.value = "P", .shown_default = kFromModel, .range = Bounds::above(0).up_to(1), .in_model = InModel::sampled});
    v("top_k", top_k, "keep the N most likely tokens; 0 keeps all",
      {.shown_default = kFromModel,
       .range = Bounds::at_least(0),
       .request = Bounds::between(-1, 2147483648.0),  // of clients, -1 is 0
       .in_model = InModel::sampled});
    v("min_p", min_p, "keep tokens with at least P times the probability of the most likely one",
      {.value = "P", .shown_default = kFromModel, .range = Bounds::between(0, 1), .in_model = InModel::sampled});
    v("typical_p", typical_p,
      "locally typical sampling: keep the tokens whose negative log-likelihood is closest to the entropy until "
      "their probabilities sum to P",
      {.value = "P", .range = Bounds::above(0).up_to(1), .request = Bounds::between(1e-6, 1)});
    v("xtc_probability", xtc_probability,
      "XTC sampling: probability, per token, of removing the top choices; 0 disables it",
      {.value = "P", .range = Bounds::between(0, 1)});
    v("xtc_threshold", xtc_threshold,
      "XTC sampling: minimum probability of a top choice; the least likely of them stays",
      {.value = "P", .range = Bounds::above(0).up_to(1), .request = Bounds::between(1e-6, 1)});
    v("top_n_sigma", top_n_sigma,
      "keep tokens whose logit is at most N standard deviations below the largest; 0 disables it",
      {.value = "N", .range = Bounds::finite(), .request = Bounds::between(-1, 100)});
    dry.visit(v);
    v("repetition_penalty", repetition_penalty,
      "penalize tokens of prompt and output: divide positive logits by X, multiply negative ones; 1 disables it",
      {.shown_default = kFromModel,
       .range = Bounds::above(0),
       .request = Bounds::between(0.01, 100),
       .in_model = InModel::always});
    v("presence_penalty", presence_penalty, "subtract X from the logits of tokens that occur in the output",
      {.range = Bounds::finite(), .request = Bounds::between(-2, 2)});
    v("frequency_penalty", frequency_penalty,
      "subtract X per occurrence from the logits of tokens that occur in the output",
      {.range = Bounds::finite(), .request = Bounds::between(-2, 2)});
    v("logit_bias", logit_bias, "add X to the logit of token ID; repeatable", {.value = "ID=X"});
    v("samplers", order, "order of the sampling steps", {.value = "STEPS", .flag = "--order"});
    v("seed", seed, "random seed of sampling: same seed, same text; -1 picks one at random",
      {.shown_default = "-1", .request = Bounds::between(-9007199254740992.0, 9007199254740992.0)});
  }
};
void check(const SamplingOptions& o);  // throws Error naming the field

}  // namespace quern::infer
