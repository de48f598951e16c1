// The verbs that carry out a recipe: quern train, and quern rl for recipes that learn from their own answers.
#pragma once
#include <string>

#include "apps/quern/cli/verbs.h"

namespace quern::cli {

int train_recipe(const std::string& verb, const std::string& purpose, Words args);

}  // namespace quern::cli
