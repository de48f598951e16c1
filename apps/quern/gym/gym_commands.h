// Verbs of `quern gym`, one file each, and the words they share.
#pragma once
#include <string>
#include <vector>

#include "apps/quern/cli/verbs.h"
#include "quern/gym/splits.h"

namespace quern::cli {

int gym_list(Words args);
int gym_show(Words args);
int gym_sample(Words args);
int gym_check(Words args);
int gym_eval(Words args);

// Environments by name; none, or "all": every one of the build.
using Environments = std::vector<const gym::NamedEnvironment*>;
bool means_all(const std::vector<std::string>& names);
Environments environments_named(const std::vector<std::string>& names);

struct DifficultyRange {
  int64_t low = 0, high = 4;
};
DifficultyRange read_difficulties(const char* verb, const std::string& text);  // "3" or "0-4"; throws UsageError

// Without the environments that have too few problems of a split at some difficulty, which are named on stderr; where
// they were asked for by name, throws Error.
Environments with_split(const Environments& all, const DifficultyRange& range, const gym::SplitChoice& choice,
                        const std::vector<std::string>& names);

}  // namespace quern::cli
