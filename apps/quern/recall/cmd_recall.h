// Pieces of `quern recall` in files of their own.
#pragma once
#include <string>

#include "apps/quern/cli/verbs.h"
#include "quern/base/json.h"
#include "quern/recall/store/store.h"

namespace quern::cli {

int recall_speed(Words args);
int recall_plan(Words args);
int recall_train(Words args);
// Each ranking on the questions of a file, by their kind. `hybrid`: the same index with an encoder, or null.
Json recall_questions(const recall::RecallStore& store, const recall::RecallStore* hybrid, const std::string& file);

}  // namespace quern::cli
