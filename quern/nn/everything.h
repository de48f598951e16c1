// The registry of all that this build has: every mixer, feed-forward, model family and optimizer, gathered from the
// folders present (registry.gen.cc, written by CMake, defines it). Made at the first call, never changed after it.
#pragma once
#include "quern/nn/registry.h"

namespace quern {

const Registry& everything();

}  // namespace quern
