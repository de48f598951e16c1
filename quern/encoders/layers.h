// What the families of encoders share: matrices and norms as a folder names them, and attention in both directions over
// texts laid one behind the other. There is no padding: T is the number of tokens of all texts together.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "quern/kernels/activation/activation.h"
#include "quern/kernels/attention/attention.h"
#include "quern/kernels/quant/prepacked_weight.h"
#include "quern/tensor/safetensors.h"

namespace quern::encoders {

struct TokenBatch {
  std::span<const int32_t> ids, types;  // [T]; types may be empty: 0 everywhere
  std::span<const int32_t> offsets;     // text i is [offsets[i], offsets[i + 1])

  int64_t tokens() const { return static_cast<int64_t>(ids.size()); }
  int64_t texts() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t longest() const;
};

struct Dense {  // y = x·Wᵀ + b
  kernels::PrepackedWeight weight;
  Tensor bias;  // undefined: none
  Tensor apply(const Tensor& x_TK) const;
};

struct Norm {  // LayerNorm
  Tensor weight, bias;
  double eps = 1e-12;
  void apply(const Tensor& x_TD, const Tensor& y_TD) const;      // y may be x
  void add_apply(const Tensor& x_TD, const Tensor& y_TD) const;  // y = norm(x + y)
};

enum class HasBias : bool { no, yes };

// The tensors of one folder, matrices packed as `format` says.
class EncoderWeights {
 public:
  // Names in the folder may have one of these prefixes (a model with a head puts its body below "bert." …).
  EncoderWeights(const TensorFolder& folder, std::vector<std::string> prefixes, kernels::QuantFormat format)
      : folder_(folder), prefixes_(std::move(prefixes)), format_(format) {}

  bool contains(const std::string& name) const { return !find(name).empty(); }
  Tensor tensor(const std::string& name, const Shape& shape) const;  // f32
  Dense dense(const std::string& name, int64_t n, int64_t k, HasBias bias) const;
  Dense dense_f32(const std::string& name, int64_t n, int64_t k, HasBias bias) const;  // heads are never rounded
  // Several matrices that read the same input, one below the other.
  Dense stacked(const std::vector<std::string>& names, int64_t n, int64_t k, HasBias bias) const;
  Norm norm(const std::string& name, int64_t n, double eps, HasBias bias) const;
  bool rounds() const { return format_.format != kernels::WeightFormat::f32; }

 private:
  std::string find(const std::string& name) const;  // empty: not there
  const TensorFolder& folder_;
  std::vector<std::string> prefixes_;
  kernels::QuantFormat format_;
};

// o [T, D] of q, k, v [T, H, d] that lie side by side in qkv [T, 3·D].
Tensor attend(const Tensor& qkv, int64_t heads, const TokenBatch& batch, kernels::AttentionOptions options);

void activate(kernels::Activation a, const Tensor& x_TF);  // in place
void add(const Tensor& x, const Tensor& y);                // y += x
// out[t] = table[ids[t]], or += with `accumulate`; an id outside of the table is an Error.
enum class Rows : bool { set, add };
void look_up(const Tensor& table, std::span<const int32_t> ids, Rows how, const Tensor& out_TD);
// The rows [offsets[i]] of x: every text's first token.
Tensor first_rows(const Tensor& x_TD, std::span<const int32_t> offsets);
Tensor mean_rows(const Tensor& x_TD, std::span<const int32_t> offsets);

}  // namespace quern::encoders
