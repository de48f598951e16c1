// Pieces of `quern recall` in files of their own.
#pragma once
#include <string>

#include "apps/quern/cli/verbs.h"
#include "quern/base/json.h"

namespace quern::cli {

int recall_speed(Words args);
int recall_plan(Words args);
// Each ranking on the questions of a file, by their kind.
Json recall_questions(const std::string& db, const std::string& file);

}  // namespace quern::cli
