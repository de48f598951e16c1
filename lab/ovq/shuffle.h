// Shuffles a list; the same order for the same generator.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "quern/base/rng.h"

namespace quern::lab {

template <class X>
void shuffle(std::vector<X>& x, Rng& random) {
  for (size_t i = x.size(); i > 1; --i) std::swap(x[i - 1], x[random.below(i)]);
}

}  // namespace quern::lab
