#include "quern/grad/gradcheck.h"

#include <algorithm>
#include <cmath>

#include "quern/base/rng.h"

namespace quern::grad {
namespace {

std::vector<Var> constants(const std::vector<Tensor>& t) { return {t.begin(), t.end()}; }

double weighted_sum(const std::vector<Var>& outputs, const std::vector<Tensor>& weights) {
  double s = 0;
  for (size_t o = 0; o < outputs.size(); ++o) {
    Tensor y = outputs[o].value.contiguous_copy_if_needed();
    for (int64_t i = 0; i < y.size(); ++i) s += y.data<double>()[i] * weights[o].data<double>()[i];
  }
  return s;
}

}  // namespace

Tensor random_normal(Shape shape, uint64_t seed, DType t, double scale) {
  Tensor x = Tensor::empty(std::move(shape), DType::f64);
  Rng rng(seed);
  for (double& v : x.span<double>()) v = scale * rng.normal();
  return x.to(t);
}

GradCheck grad_check(const CheckedFunction& f, std::vector<Tensor> inputs, const NamedParameters& parameters,
                     int64_t maximum, double step) {
  for (auto& [name, p] : parameters) p->grad = Tensor();
  Tape tape;
  std::vector<Var> leaves;
  for (const Tensor& t : inputs) leaves.push_back(tape.input(t));
  std::vector<Var> outputs = f(tape, leaves);
  std::vector<Tensor> weights;
  for (size_t o = 0; o < outputs.size(); ++o) weights.push_back(random_normal(outputs[o].value.shape(), 1000 + o));
  tape.backward(outputs, weights);

  GradCheck result;
  auto value = [&] {
    Tape plain(Tape::inference);
    return weighted_sum(f(plain, constants(inputs)), weights);
  };
  auto probe = [&](const std::string& name, const Tensor& x, const Tensor& grad) {
    int64_t stride = std::max<int64_t>(1, x.size() / maximum);
    for (int64_t i = 0; i < x.size(); i += stride) {
      double keep = x.data<double>()[i];
      x.data<double>()[i] = keep + step;
      double up = value();
      x.data<double>()[i] = keep - step;
      double down = value();
      x.data<double>()[i] = keep;
      double numeric = (up - down) / (2 * step),
             exact = grad.defined() ? grad.contiguous_copy_if_needed().data<double>()[i] : 0;
      double error = std::abs(numeric - exact) / std::max(1.0, std::abs(numeric));
      if (!(error <= result.worst))
        result = {error, fmt::format("{}[{}]: numeric {}, tape {}", name, i, numeric, exact)};
    }
  };
  for (size_t i = 0; i < inputs.size(); ++i) probe(fmt::format("input {}", i), inputs[i], tape.grad(leaves[i]));
  for (auto& [name, p] : parameters)
    if (p->trainable) probe(name, p->value, p->grad);
  return result;
}

}  // namespace quern::grad
