// quern learn ovq mqar|copy: what memories of different kinds hold, learnt and asked; words after "ovq".
#pragma once
#include "apps/quern/verbs.h"

namespace quern {

int learn_ovq(Words args);

}  // namespace quern
