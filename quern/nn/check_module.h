// Test helper: gradient check of every parameter of a module, with values large enough to matter.
#pragma once
#include "quern/grad/gradcheck.h"
#include "quern/nn/module.h"

namespace quern::nn {

// Random f64 values around each parameter's initial constant (or zero), of the given spread.
inline grad::NamedParameters randomized(Module& m, uint64_t seed, double spread = 0.4) {
  grad::NamedParameters all;
  m.visit("", [&](const std::string& name, grad::Parameter& p) {
    p.value = grad::random_normal(p.shape, seed + all.size(), DType::f64,
                                  p.init.kind == grad::Init::Kind::constant ? spread / 2 : spread);
    if (p.init.kind == grad::Init::Kind::constant)
      for (double& v : p.value.span<double>()) v += p.init.value;
    all.emplace_back(name, &p);
  });
  return all;
}

}  // namespace quern::nn
