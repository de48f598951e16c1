// PrepackedWeight: a matrix W [N, K] in any quantization format, with one interface: y = x·Wᵀ + b, g·W for
// gradients of x, and rows for embeddings that share the head. Cheap to copy: copies share the bytes.
#pragma once
#include <memory>
#include <vector>

#include "quern/base/prefetch.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/quant/quant_linear.h"

namespace quern::kernels {

// Σ x·xᵀ over the rows a weight has met, K·K numbers: what calibration collects (error_feedback.h).
struct InputSquares {
  std::vector<double> sum;
  int64_t rows = 0;
};

class PrepackedWeight {
 public:
  PrepackedWeight() = default;
  PrepackedWeight(QuantLinear w) : quant_(std::move(w)), order_(std::make_shared<PrefetchPlan>()) {}
  static PrepackedWeight pack(const Tensor& w, const QuantFormat& s);  // w: [N, K], f32 or bf16

  bool defined() const { return dense_.defined() || quant_.defined(); }
  int64_t n() const { return dense_.defined() ? dense_.n() : quant_.n(); }
  int64_t k() const { return dense_.defined() ? dense_.k() : quant_.k(); }
  QuantFormat scheme() const { return dense_.defined() ? QuantFormat(dense_.dtype()) : quant_.scheme(); }
  int64_t bytes() const { return dense_.defined() ? dense_.bytes() : quant_.blob().bytes(); }
  const QuantLinear& quantized() const { return quant_; }

  void apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y, Arena& scratch) const;
  // y[r] = W_g·x[r] for the rows r of every group g, as experts want it: quantized ones of one shape as one piece of
  // work.
  struct Group {
    const PrepackedWeight* w = nullptr;
    int64_t begin = 0, end = 0;
  };
  static void apply_groups(std::span<const Group> groups, View<const float, 2> x, View<float, 2> y, Arena& scratch);
  void row(int64_t i, View<float, 1> out) const { dense_.defined() ? dense_.row(i, out) : quant_.row(i, out); }
  void rows(int64_t begin, View<float, 2> out) const {  // the same of W[begin : begin + out.shape[0], :]
    dense_.defined() ? dense_.rows(begin, out) : quant_.rows(begin, out);
  }
  // out = g·W[begin : begin + g.shape[1], :], or added to out with beta 1, without a second copy of W.
  void apply_transposed(View<const float, 2> g, int64_t begin, View<float, 2> out, GemmOptions o,
                        Arena& scratch) const;
  void observe(std::shared_ptr<InputSquares> to) { seen_ = std::move(to); }  // every apply adds its x

 private:
  const void* data() const { return dense_.defined() ? dense_.data() : quant_.blob().raw(); }
  void note(View<const float, 2> x) const;  // what traffic and calibration want to know of a product
  void announce(int64_t rows) const;        // tells reading ahead that this one is read now

  PackedLinear dense_;
  QuantLinear quant_;
  std::shared_ptr<InputSquares> seen_;
  std::shared_ptr<PrefetchPlan> order_;
};

}  // namespace quern::kernels
