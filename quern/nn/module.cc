#include "quern/nn/module.h"

#include "quern/base/rng.h"

namespace quern::nn {

uint64_t name_stream(const std::string& name) {  // FNV-1a
  uint64_t h = 0xcbf29ce484222325ull;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001b3ull;
  return h;
}

Tensor initial_value(const grad::Parameter& p, const std::string& name, uint64_t seed, DType t) {
  Tensor v = Tensor::empty(p.shape, DType::f32);
  if (p.init.kind == grad::Init::Kind::constant) {
    v.fill(p.init.value);
  } else {
    Rng rng(seed, name_stream(name));
    const bool drawn = p.init.kind == grad::Init::Kind::drawn;
    for (float& x : v.span<float>())
      x = static_cast<float>(drawn ? p.init.draw(rng.uniform()) : rng.normal() * p.init.value);
  }
  if (p.init.last) v.data<float>()[v.size() - 1] = static_cast<float>(*p.init.last);
  return v.to(t);
}

void initialize(Module& m, uint64_t seed, DType t) {
  m.visit("", [&](const std::string& name, grad::Parameter& p) {
    p.value = initial_value(p, name, seed, t);
    p.grad = Tensor();
  });
}

int64_t parameter_count(Module& m) {
  int64_t n = 0;
  m.visit("", [&](const std::string&, grad::Parameter& p) {
    if (p.trainable) n += element_count(p.shape);
  });
  return n;
}

void zero_grad(Module& m) {
  m.visit("", [](const std::string&, grad::Parameter& p) { p.zero_grad(); });
}

}  // namespace quern::nn
