// DeBERTa's disentangled attention (arXiv 2006.03654): to q·k it adds what the query thinks of the distance and what
// the key thinks of it, both against embeddings of relative distances, in logarithmic buckets beyond half their number.
//   s(i, j) = (q_i·k_j + q_i·K_δ + k_j·Q_δ) · scale,   δ = bucket(i − j)
#pragma once
#include "quern/encoders/layers.h"

namespace quern::encoders {

struct RelativePositions {
  int64_t buckets = 0;  // ≤ 0: one per distance
  int64_t longest = 0;  // distances beyond share the last one

  int64_t span() const { return buckets > 0 ? buckets : longest; }
  int64_t row(int64_t distance) const;  // of the embedding, 0 … 2·span − 1
};

class DisentangledBias : public kernels::ScoreBias {
 public:
  struct Inputs {
    const Tensor& qkv;               // [T, 3·D]
    const Tensor& position_keys;     // [2·span, D], or undefined: the query has no say
    const Tensor& position_queries;  // likewise: the key has none
    int64_t heads;
    double scale;
    bool bf16;
  };
  DisentangledBias(const Inputs& in, const RelativePositions& relative, int64_t longest);
  void add(const Span& at, float* s) const override;

 private:
  void multiply(const Inputs& in, int64_t part, const Tensor& positions, Tensor& out) const;

  int64_t tokens_, reach_, first_row_, rows_;
  float scale_;
  std::vector<int32_t> column_;  // by distance + reach_
  Tensor by_query_, by_key_;     // [H, T, rows_]
};

}  // namespace quern::encoders
