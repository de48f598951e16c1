// Fast weight memories of all heads and segments as one tape operation: o = FastWeights(q, k, v; g, β), with the
// inputs of the gates:  β = σ(b),  g = −e^{A_log}·softplus(a + dt_bias). State: one part [H, d, dv], f32.
#pragma once
#include "quern/mixers/mixer.h"

namespace quern::mixers {

struct MemoryGates {
  const grad::Var* b = nullptr;                          // [T, H]; none: rate 1
  const grad::Var* a = nullptr;                          // [T, H]; none: no decay
  grad::Parameter *a_log = nullptr, *dt_bias = nullptr;  // [H], with a
};

struct MemoryHeads {
  grad::Var q_THd, k_THd, v_THd;  // [T, H, d], [T, H, d], [T, H, dv]
  MemoryGates gates = {};
  bool correct = false;  // the delta rule: a write replaces what its key read
};

StatePart memory_part(int64_t n_head, int64_t head_dim, DType kv);
grad::Var memory_heads(grad::Tape& tape, const MemoryHeads& in, const Batch& batch, int site);

}  // namespace quern::mixers
