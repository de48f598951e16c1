// Sub-verbs of `quern gym` that have files of their own.
#pragma once
#include "apps/quern/cli/verbs.h"

namespace quern::cli {

int gym_verify(Words args);

}  // namespace quern::cli
