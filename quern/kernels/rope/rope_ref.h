// Reference rotation. Arguments as in rope.h.
#pragma once
#include "quern/kernels/rope/rope.h"

namespace quern::kernels {

template <class T>
void rope_ref(View<const T, 3> x, View<const T, 2> cos, View<const T, 2> sin, RopePairing pairing, RopeTurn turn,
              View<T, 3> y);

}  // namespace quern::kernels
