// PrepackedWeight: a matrix W [N, K] in any quantization format, with one interface: y = x·Wᵀ + b, and single rows for
// embeddings that share the head. Cheap to copy: copies share the bytes.
#pragma once
#include <memory>
#include <vector>

#include "quern/base/read_ahead.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/quant/quant_linear.h"

namespace quern::kernels {

// Σ x·xᵀ over the rows a weight has met, K·K numbers: what calibration collects (feedback.h).
struct InputSquares {
  std::vector<double> sum;
  int64_t rows = 0;
};

class PackedWeight {
 public:
  PackedWeight() = default;
  PackedWeight(QuantLinear w) : quant_(std::move(w)), order_(std::make_shared<ReadingOrder>()) {}
  static PackedWeight pack(const Tensor& w, const WeightScheme& s);  // w: [N, K], f32 or bf16

  bool defined() const { return dense_.defined() || quant_.defined(); }
  int64_t n() const { return dense_.defined() ? dense_.n() : quant_.n(); }
  int64_t k() const { return dense_.defined() ? dense_.k() : quant_.k(); }
  WeightScheme scheme() const { return dense_.defined() ? WeightScheme(dense_.dtype()) : quant_.scheme(); }
  int64_t bytes() const { return dense_.defined() ? dense_.bytes() : quant_.blob().bytes(); }
  const QuantLinear& quantised() const { return quant_; }

  void apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y, Arena& scratch) const;
  // y[r] = W_g·x[r] for the rows r of every group g, as experts want it: quantised ones of one shape as one piece of
  // work.
  struct Group {
    const PackedWeight* w = nullptr;
    int64_t begin = 0, end = 0;
  };
  static void apply_groups(std::span<const Group> groups, View<const float, 2> x, View<float, 2> y, Arena& scratch);
  void row(int64_t i, View<float, 1> out) const { dense_.defined() ? dense_.row(i, out) : quant_.row(i, out); }
  void observe(std::shared_ptr<InputSquares> to) { seen_ = std::move(to); }  // every apply adds its x

 private:
  const void* data() const { return dense_.defined() ? dense_.data() : quant_.blob().raw(); }
  void note(View<const float, 2> x) const;  // what traffic and calibration want to know of a product
  void announce(int64_t rows) const;        // tells reading ahead that this one is read now

  PackedLinear dense_;
  QuantLinear quant_;
  std::shared_ptr<InputSquares> seen_;
  std::shared_ptr<ReadingOrder> order_;
};

}  // namespace quern::kernels
