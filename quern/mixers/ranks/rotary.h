// Rotary settings of a softmax attention mixer: frequencies, magnitude (YaRN), and frequencies that depend on the
// length of the sequence (dynamic NTK).
#pragma once
#include <optional>
#include <vector>

#include "quern/kernels/rope/rope.h"
#include "quern/mixers/mixer.h"

namespace quern::mixers {

// Dynamic NTK scaling: in a sequence of n tokens the base of d rotary dims is θ·a^(d/(d−2)),
//   a = factor·max(n, length)/length − (factor − 1),
// so that frequency i becomes θ^(−2i/d)·a^(−2i/(d−2)). Up to `length` tokens a is 1.
struct DynamicNtk {
  double factor = 1;
  int64_t length = 0;  // the context of the training
};

struct RopeConfig {
  double theta = 1e4;
  std::vector<double> inv_freq;  // when given, used instead of theta (scaled rotary embeddings)
  kernels::RopePairing pairing = kernels::RopePairing::half;
  double magnitude = 1;               // of rotated queries and keys (YaRN's attention factor)
  std::optional<DynamicNtk> dynamic;  // needs at least four rotary dims

  std::vector<double> frequencies(int64_t rotary_dims) const {
    return inv_freq.empty() ? kernels::rope_inv_freq(rotary_dims, theta) : inv_freq;
  }
  // a^(−2/(d−2)) of every row, as RopeAngles takes it; empty without `dynamic`. The length n of a row's sequence is
  // that of its whole document where there are no states (one pass over a text, training). With states it is the
  // row's position + 1, as if tokens came one at a time: a sequence then does not depend on how it is cut into calls,
  // nor on tokens that are drafted behind it, and rows in the cache stay true.
  std::vector<double> stretch(int64_t rotary_dims, const Batch& batch) const;
};

}  // namespace quern::mixers
