// Gradient check in double precision: the tape's gradients of Σ c_i·f_i(inputs, parameters), c fixed and random,
// against central differences, element by element. Returns the worst |difference| / max(1, |gradient|) and where it
// was.
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "quern/grad/tape.h"

namespace quern::grad {

struct GradCheck {
  double worst = 0;
  std::string where;
};

using NamedParameters = std::vector<std::pair<std::string, Parameter*>>;
using CheckedFunction = std::function<std::vector<Var>(Tape&, const std::vector<Var>& inputs)>;

// inputs and parameter values must be f64. At most `most` elements of each tensor are probed (evenly spread).
GradCheck grad_check(const CheckedFunction& f, std::vector<Tensor> inputs, const NamedParameters& parameters,
                     int64_t maximum = 40, double step = 1e-5);

// Deterministic standard normal numbers, for tests.
Tensor random_normal(Shape shape, uint64_t seed, DType t = DType::f64, double scale = 1);

}  // namespace quern::grad
