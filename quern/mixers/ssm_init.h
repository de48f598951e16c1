// Initialization of state space layers: decays A = −exp(A_log) and time steps of many sizes, so that heads remember
// over different spans. Quantile functions for Init::drawn.
#pragma once
#include <cmath>

namespace quern::mixers {

inline double ssm_log_decay(double u) { return std::log(1 + 15 * u); }  // A uniform on [1, 16]

// The bias whose softplus is a time step log-uniform on [0.001, 0.1].
inline double ssm_step_bias(double u) {
  double dt = std::exp(std::log(1e-3) + u * (std::log(1e-1) - std::log(1e-3)));
  return dt + std::log(-std::expm1(-dt));
}

}  // namespace quern::mixers
