// DRY ("don't repeat yourself") repetition penalty: a token that would continue an earlier passage loses
//   multiplier · base^(length − allowed_length)
// of its logit, at most 10⁴. `length` ≥ allowed_length is how many of the newest tokens, up to the last breaker, also
// precede the earlier occurrence; of several occurrences the longest counts. A token whose text ends in a breaker
// stops the match: repetitions are not followed across line ends, colons, quotation marks and asterisks.
//
// For every occurrence of the newest token, its match length is that of the position before plus one, so a step costs
// as many operations as the newest token and the one before it occur (among the newest 2048 positions).
#pragma once
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quern/infer/options/sampling_options.h"

namespace quern::infer {

class DryPenalties {
 public:
  explicit DryPenalties(DryOptions o) : o_(std::move(o)) {}
  void push(int32_t token);
  std::unordered_map<int32_t, double> penalties() const;  // what the next token would lose

 private:
  struct Occurrence {
    int64_t at, length;  // of the token that is the newest too; how many tokens agree up to there
  };
  bool breaks(int32_t token);
  DryOptions o_;
  std::vector<int32_t> tokens_;
  std::unordered_map<int32_t, std::vector<int64_t>> where_;  // of each token, but for places that broke
  std::vector<Occurrence> places_, before_;                  // by position
  std::string tail_;                                         // text in which a breaker may have begun
};

}  // namespace quern::infer
