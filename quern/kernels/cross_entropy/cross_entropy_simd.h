// Table of fast loss rows; the bodies, cross_entropy_rows.h, are compiled once per instruction set.
#pragma once
#include <cstdint>

namespace quern::kernels {

struct LossRow {
  float* logits;      // [vocab]; with `gradient` they become scale·(p − onehot)
  const float* bias;  // [vocab] or null; added to the logits first
  int64_t vocab, target;
  float scale;
  bool gradient;
};

struct LossTable {
  float (*row)(const LossRow&);  // returns −log p[target]
};
extern const LossTable cross_entropy_avx2, cross_entropy_avx512;

}  // namespace quern::kernels
