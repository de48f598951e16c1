// Interleaves data sets by weight so that every prefix has the right shares: after k samples each set has provided w·k
// samples to within one. Of the sets behind their share the one whose next sample is due first is chosen; plain
// "largest deficit first" can fall more than one sample behind with many sets. A function of weights and count only:
// seek recomputes the choices, about 10⁸ per second for two sets.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quern::data {

class Mixture {
 public:
  explicit Mixture(std::vector<double> weights);  // above zero, in any unit; throws Error
  size_t next();                                  // the set of the next sample
  void seek(int64_t count);                       // as if next() had been called this often on a fresh mixture
  int64_t count() const { return count_; }
  const std::vector<int64_t>& given() const { return given_; }  // by each set so far
  const std::vector<double>& shares() const { return shares_; }

 private:
  std::vector<double> shares_;
  std::vector<int64_t> given_;
  int64_t count_ = 0;
};

}  // namespace quern::data
