// Pieces of `quern data` in files of their own.
#pragma once
#include "apps/quern/cli/verbs.h"

namespace quern::cli {

int data_attempts(Words args);
int data_pairs(Words args);  // answers, chosen and rejected

}  // namespace quern::cli
