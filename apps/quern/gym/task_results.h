// What replies to tasks come to, as quern gym verify and quern eval --tasks print it.
#pragma once
#include "quern/reason/task_eval.h"

namespace quern::cli {

// A row for each verifier, where there are several, and one for all: success and pass@k with 95 % intervals.
void print_task_scores(const reason::TaskScores& scores);
Json task_scores_json(const reason::TaskScores& scores);  // "all", "verifiers", "unanswered"

}  // namespace quern::cli
