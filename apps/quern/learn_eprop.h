// quern learn eprop cosine | train | cost: the words after "eprop".
#pragma once
#include "apps/quern/verbs.h"

namespace quern {

int learn_eprop(Words args);

}  // namespace quern
