// Sampling of the next token from a row of logits. The logit bias is added first; then the steps of `order` run, each
// on what the one before left; then one token is sampled. Temperature 0 is greedy (lowest id among equals). The same
// seed and step give the same token.
//   penalties    repetition (prompt and output; divides positive logits, multiplies negative ones), presence and
//                frequency (output only; subtracted once, and once per occurrence)
//   dry          penalizes tokens that would continue a repetition, more for longer ones (sampler_dry.h)
//   temperature  logits / temperature
//   top_n_sigma  keeps logits at most n standard deviations below the maximum; the deviation is that of the whole row,
//                without banned tokens
//   top_k        keeps the k most likely tokens
//   top_p        nucleus sampling: keeps the most likely tokens until they sum to p of what is left
//   typical_p    keeps the tokens whose information content is nearest to the entropy, until they sum to p
//   min_p        keeps tokens at least min_p times as likely as the most likely one
//   xtc          exclude top choices: with some probability, keeps only the least likely token above the threshold
// A step that is not in the order is skipped, whatever its option says.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "quern/infer/options/sampling_options.h"
#include "quern/infer/sampling/sampler_dry.h"

namespace quern::infer {

struct TokenLogprob {
  int32_t token = 0;
  double logprob = 0;  // under the untouched distribution
  double sampled = 0;  // under the one it was sampled from: after bias, penalties, temperature and filters
};

class Sampler {
 public:
  explicit Sampler(SamplingOptions o);
  bool greedy() const { return o_.temperature == 0; }
  void accept_prompt(std::span<const int32_t> tokens);  // for the repetition penalty
  void accept_token(int32_t token);                     // a token of the answer, sampled or forced
  TokenLogprob next(std::span<const float> logits, uint64_t step);

 private:
  struct Seen {
    bool prompt = false;
    int64_t answer = 0;
  };
  struct Candidate {
    int32_t id;
    double logit;
  };
  bool has(SampleStep step, size_t from = 0) const;  // in the order, not before `from`
  bool takes_all() const;                            // no cut is asked for: the draw is from the whole distribution
  Candidate sample_from_all(std::span<const float> x, size_t best, uint64_t step);
  double penalized(double logit, const Seen& seen) const;
  struct RowSteps {
    bool penalties, dry;
  };
  void adjust(std::span<const float> logits, RowSteps steps);
  void filter(SampleStep step, bool& sorted, uint64_t at);
  void keep_typical();
  void exclude_top();

  SamplingOptions o_;
  bool penalized_;
  std::optional<DryPenalties> repeats_;  // when DRY is on
  size_t early_ = 0;                     // so many steps of the order are done on the row itself
  double floor_sigma_ = 0;               // n standard deviations of the row, in the scale of the logits left
  std::unordered_map<int32_t, Seen> seen_;
  std::vector<Candidate> left_;
  std::vector<float> adjusted_, shares_;  // kept between steps
};

// The logprobs of one token and of the n likeliest, under the untouched distribution.
double logprob_of(std::span<const float> logits, int32_t token);
std::vector<TokenLogprob> top_logprobs(std::span<const float> logits, int64_t n);

}  // namespace quern::infer
