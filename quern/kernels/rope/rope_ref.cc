// Rotary embedding by the defining equations: one pair after another, then the dims that do not rotate. x, y: [T, H,
// d], cos, sin: [T, n_freq].
#include "quern/kernels/rope/rope_ref.h"

namespace quern::kernels {

template <class T>
void rope_ref(View<const T, 3> x, View<const T, 2> cos, View<const T, 2> sin, RopePairing pairing, RopeTurn turn,
              View<T, 3> y) {
  const int64_t n = cos.shape[1];
  for (int64_t t = 0; t < x.shape[0]; ++t)
    for (int64_t h = 0; h < x.shape[1]; ++h) {
      for (int64_t i = 0; i < n; ++i) {
        int64_t a = pairing == RopePairing::half ? i : 2 * i, b = pairing == RopePairing::half ? i + n : 2 * i + 1;
        T c = cos(t, i), s = turn == RopeTurn::inverse ? -sin(t, i) : sin(t, i), xa = x(t, h, a), xb = x(t, h, b);
        y(t, h, a) = xa * c - xb * s;
        y(t, h, b) = xb * c + xa * s;
      }
      for (int64_t i = 2 * n; i < x.shape[2]; ++i) y(t, h, i) = x(t, h, i);
    }
}

template void rope_ref<float>(View<const float, 3>, View<const float, 2>, View<const float, 2>, RopePairing, RopeTurn,
                              View<float, 3>);
template void rope_ref<double>(View<const double, 3>, View<const double, 2>, View<const double, 2>, RopePairing,
                               RopeTurn, View<double, 3>);

}  // namespace quern::kernels
