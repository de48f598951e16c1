#include "quern/data/mixture.h"

#include <cmath>

#include "quern/base/error.h"

namespace quern::data {

Mixture::Mixture(std::vector<double> weights) : shares_(std::move(weights)), given_(shares_.size()) {
  if (shares_.empty()) fail("mixture: no sets");
  double sum = 0;
  for (size_t i = 0; i < shares_.size(); ++i) {
    if (!(shares_[i] > 0 && std::isfinite(shares_[i])))
      fail("mixture: weight {} of set {}, expected a number above 0", shares_[i], i);
    sum += shares_[i];
  }
  for (double& s : shares_) s /= sum;
}

size_t Mixture::next() {
  ++count_;
  size_t best = shares_.size();
  double best_due = 0;
  for (size_t i = 0; i < shares_.size(); ++i) {
    const double due = static_cast<double>(given_[i] + 1) / shares_[i];  // by then one more must have been given
    const bool behind = static_cast<double>(given_[i]) < shares_[i] * static_cast<double>(count_);
    if (behind && (best == shares_.size() || due < best_due)) best = i, best_due = due;
  }
  QUERN_CHECK(best < shares_.size(), "no set is below its share after {} samples", count_);
  ++given_[best];
  return best;
}

void Mixture::seek(int64_t count) {
  if (count < count_) count_ = 0, given_.assign(shares_.size(), 0);
  while (count_ < count) next();
}

}  // namespace quern::data
