// The sub-verbs of quern corpus.
#pragma once
#include "apps/quern/verbs.h"

namespace quern {

int corpus_build(Words args);
int corpus_dedup(Words args);
int corpus_filter(Words args);

}  // namespace quern
