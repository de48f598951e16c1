// WeightPrepacking: the argument of Module::pack. It holds the quantization format and makes the prepacked weights:
// from the plain weights, or through a hook (which reads them from a quantized file, records them for one, or observes
// their inputs). It also hands modules the low-rank paths that an adapter has beside their matrices. Modules are prepacked in a fixed order and ask for their matrices one by one; that order identifies
// the matrices of a quantized file.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/kernels/quant/prepacked_weight.h"
#include "quern/nn/low_rank.h"

namespace quern::nn {

struct PrepackHook {
  virtual ~PrepackHook() = default;
  // The matrix `name` (for people) [n, k]; `plain` makes the weights when they are wanted.
  virtual kernels::PrepackedWeight matrix(const std::string& name, int64_t n, int64_t k,
                                          const kernels::QuantFormat& s, const std::function<Tensor()>& plain) = 0;
  virtual bool stored() const { return false; }        // quantized weights come from elsewhere, parameters are absent
  virtual bool leaves_dense() const { return false; }  // matrices that are not quantized stay parameters
};

class WeightPrepacking {
 public:
  WeightPrepacking(DType t) : body_(t), head_(t) {}
  // Without a head scheme, a quantized body gets a q8 head, any other its own.
  explicit WeightPrepacking(kernels::QuantFormat body, PrepackHook* hook = nullptr)
      : WeightPrepacking(body, body.quantized() ? kernels::QuantFormat(kernels::WeightFormat::q8) : body, hook) {}
  WeightPrepacking(kernels::QuantFormat body, kernels::QuantFormat head, PrepackHook* hook = nullptr)
      : body_(body), head_(head), hook_(hook) {}

  const kernels::QuantFormat& scheme() const { return body_; }
  DType rows() const { return body_.rows(); }  // what activations are rounded to before products
  WeightPrepacking of(kernels::QuantFormat s) const { return WeightPrepacking(s, s, hook_).beside(low_rank_); }
  WeightPrepacking beside(LowRankSource* paths) const {  // null: matrices have none
    WeightPrepacking t = *this;
    t.low_rank_ = paths;
    return t;
  }
  LowRank low_rank(const std::string& name, int64_t n, int64_t k) const {
    return low_rank_ ? low_rank_->find(name, n, k) : LowRank();
  }
  LowRank shared_low_rank(const std::vector<std::string>& names, int64_t n, int64_t k) const {
    return low_rank_ ? low_rank_->find_shared(names, n, k) : LowRank();
  }
  WeightPrepacking of_head() const { return of(head_); }

  // Whether matrices are packed at all. If not, modules keep their parameters.
  bool packs() const {
    return body_.format != kernels::WeightFormat::plain && (body_.quantized() || !hook_ || !hook_->leaves_dense());
  }
  // The plain weights are not there and need not be made ready.
  bool stored() const { return hook_ && body_.quantized() && hook_->stored(); }
  kernels::PrepackedWeight matrix(const std::string& name, int64_t n, int64_t k,
                                  const std::function<Tensor()>& plain) const {
    return hook_ && body_.quantized() ? hook_->matrix(name, n, k, body_, plain)
                                      : kernels::PrepackedWeight::pack(plain(), body_);
  }

 private:
  kernels::QuantFormat body_, head_;
  PrepackHook* hook_ = nullptr;
  LowRankSource* low_rank_ = nullptr;
};

}  // namespace quern::nn
