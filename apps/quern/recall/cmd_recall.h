// Pieces of `quern recall` in files of their own.
#pragma once
#include "apps/quern/cli/verbs.h"

namespace quern::cli {

int recall_speed(Words args);
int recall_plan(Words args);

}  // namespace quern::cli
