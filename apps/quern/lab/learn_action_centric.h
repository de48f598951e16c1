// quern research action-centric curve | invariance | transfer | rate: codes of images priced by their rate, measured
// (lab/action_centric).
#pragma once
#include "apps/quern/cli/verbs.h"

namespace quern::cli {

int learn_action_centric(Words args);  // the words after "action-centric"

}  // namespace quern::cli
