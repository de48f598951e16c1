// Rotary position embedding (RoPE) on the first `2·n_freq` dims of every head; the rest is copied (or left, in place).
// half pairing (NeoX, "rotate half"): i ↔ i + n_freq. interleaved pairing (GPT-J): 2i ↔ 2i + 1.
//   x'[a] = x[a]·cos − x[b]·sin,  x'[b] = x[b]·cos + x[a]·sin,  angle = position · inv_freq[i]
// Angles and cos/sin are computed in double from the integer position, so long contexts stay exact. `inverse` rotates
// by the opposite angle, for the backward pass.
// Scaled positions change the tables alone: their magnitude (YaRN), and the base of the frequencies row by row (NTK).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/tensor/view.h"

namespace quern::kernels {

enum class RopePairing { half, interleaved };
enum class RopeTurn { forward, inverse };  // inverse: by the opposite angles, the gradient

std::vector<double> rope_inv_freq(int64_t rotary_dims, double theta);  // θ^(−2i/rotary_dims), rotary_dims/2 of them

// Row t of the tables: magnitude·cos and magnitude·sin of positions[t]·inv_freq[i]·stretch[t]^i.
struct RopeAngles {
  std::span<const int32_t> positions;    // [T]
  std::span<const double> inv_freq;      // [n_freq]
  double magnitude = 1;                  // of what is turned, so that backward scales the gradient by it too
  std::span<const double> stretch = {};  // [T], or empty: 1 everywhere
};

// cos, sin: [T, n_freq] tables for these angles.
template <class T>
void rope_table(const RopeAngles& angles, View<T, 2> cos, View<T, 2> sin);
template <class T>
void rope_table(std::span<const int32_t> positions, std::span<const double> inv_freq, View<T, 2> cos,
                View<T, 2> sin) {
  rope_table<T>(RopeAngles{.positions = positions, .inv_freq = inv_freq}, cos, sin);
}

// x, y: [T, H, d]; y may be x.
template <class T>
void rope(View<const T, 3> x, View<const T, 2> cos, View<const T, 2> sin, RopePairing pairing, RopeTurn turn,
          View<T, 3> y);

}  // namespace quern::kernels
