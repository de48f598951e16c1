// The two graders that come with Quern, models/passages: what somebody learns from a text (0 to 4), and what a reader must
// know to follow it (1, any adult, to 4, an expert). English.
#pragma once
#include "quern/corpus/grades/grader.h"

namespace quern::corpus {

const Grader& shipped_education();
const Grader& shipped_reading_level();

}  // namespace quern::corpus
