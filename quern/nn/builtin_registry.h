// The registry of everything in this build: every mixer, feed-forward, model family and optimizer, collected from the
// folders that are present (defined in registry.gen.cc, written by CMake). Built at the first call and immutable
// afterwards.
#pragma once
#include "quern/nn/registry.h"

namespace quern::nn {

const Registry& builtin_registry();

}  // namespace quern::nn
