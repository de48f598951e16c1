// quern research ovq mqar|copy|order|order-said|regress|store|needles: what memories of different kinds hold; the words
// after "ovq".
#pragma once
#include "apps/quern/cli/verbs.h"

namespace quern::cli {

int learn_ovq(Words args);

}  // namespace quern::cli
