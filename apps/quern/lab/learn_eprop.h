// quern research eprop cosine | train | cost: the words after "eprop".
#pragma once
#include "apps/quern/cli/verbs.h"

namespace quern::cli {

int learn_eprop(Words args);

}  // namespace quern::cli
