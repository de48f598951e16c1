// Module: names its parameters through one visitor, which loading, saving, optimizers and printing share.
#pragma once
#include <functional>
#include <string>

#include "quern/grad/tape.h"
#include "quern/nn/weight_prepacking.h"

namespace quern::nn {

using ParameterVisitor = std::function<void(const std::string& name, grad::Parameter&)>;

class Module {
 public:
  virtual ~Module() = default;
  // Calls v for every parameter this module has, with names that start with `prefix`.
  virtual void visit(const std::string& prefix, const ParameterVisitor& v) = 0;
  // Matrices take their form for inference and let go of the plain values. Once these are there again, with new values,
  // packing again replaces the old form.
  virtual void pack(const WeightPrepacking&) {}
};

uint64_t name_stream(const std::string& name);  // of random numbers, one for each name
// A parameter's initial value, drawn from (seed, name): the same whatever the order.
Tensor initial_value(const grad::Parameter& p, const std::string& name, uint64_t seed, DType t);
void initialize(Module& m, uint64_t seed, DType t = DType::f32);
int64_t parameter_count(Module& m);  // those that train
void zero_grad(Module& m);

}  // namespace quern::nn
