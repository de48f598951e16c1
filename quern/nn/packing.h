// WeightPrepacking: the argument of Module::pack. It holds the quantization format and makes the prepacked weights:
// from the plain weights, or through a hook (which reads them from a quantized file, records them for one, or observes
// their inputs). Modules are prepacked in a fixed order and ask for their matrices one by one; that order identifies
// the matrices of a quantized file.
#pragma once
#include <functional>
#include <string>

#include "quern/kernels/quant/packed_weight.h"

namespace quern {

struct PackHook {
  virtual ~PackHook() = default;
  // The matrix `name` (for people) [n, k]; `plain` makes the weights when they are wanted.
  virtual kernels::PackedWeight matrix(const std::string& name, int64_t n, int64_t k, const WeightScheme& s,
                                       const std::function<Tensor()>& plain) = 0;
  virtual bool stored() const { return false; }        // quantised weights come from elsewhere, parameters are absent
  virtual bool leaves_dense() const { return false; }  // matrices that are not quantised stay parameters
};

class Packing {
 public:
  Packing(DType t) : body_(t), head_(t) {}
  // Without a head scheme, a quantised body gets a q8 head, any other its own.
  explicit Packing(WeightScheme body, PackHook* hook = nullptr)
      : Packing(body, body.quantised() ? WeightScheme(WeightFormat::q8) : body, hook) {}
  Packing(WeightScheme body, WeightScheme head, PackHook* hook = nullptr) : body_(body), head_(head), hook_(hook) {}

  const WeightScheme& scheme() const { return body_; }
  DType rows() const { return body_.rows(); }  // what activations are rounded to before products
  Packing of(WeightScheme s) const { return Packing(s, s, hook_); }
  Packing of_head() const { return of(head_); }

  // Whether matrices are packed at all. If not, modules keep their parameters.
  bool packs() const {
    return body_.format != WeightFormat::plain && (body_.quantised() || !hook_ || !hook_->leaves_dense());
  }
  // The plain weights are not there and need not be made ready.
  bool stored() const { return hook_ && body_.quantised() && hook_->stored(); }
  kernels::PackedWeight matrix(const std::string& name, int64_t n, int64_t k,
                               const std::function<Tensor()>& plain) const {
    return hook_ && body_.quantised() ? hook_->matrix(name, n, k, body_, plain)
                                      : kernels::PackedWeight::pack(plain(), body_);
  }

 private:
  WeightScheme body_, head_;
  PackHook* hook_ = nullptr;
};

}  // namespace quern
