// Rate–distortion function of a finite source by the Blahut–Arimoto algorithm: for a slope β
//   q(y|x) ∝ q(y)·e^(−β·d(x,y)),   q(y) = Σ_x p(x)·q(y|x)
// until the bounds on the rate meet. No code of distortion D has a rate below R(D).
#pragma once
#include <cstdint>
#include <vector>

namespace quern::lab {

struct FiniteSource {
  std::vector<double> p;                        // of x; adds up to 1
  std::vector<std::vector<double>> distortion;  // [x][y], finite and not negative
};
struct RatePoint {
  double bits = 0, distortion = 0;
};

RatePoint rate_at_slope(const FiniteSource& s, double beta);
// R(D): the slope is searched for. 0 from the distortion on that the best constant answer has.
double rate_at_distortion(const FiniteSource& s, double distortion);

// The least rate, in bits, of an answer to a question of k equally likely answers that is right with this accuracy.
double min_query_rate(int64_t k, double accuracy);

}  // namespace quern::lab
