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
int gym_solutions(Words args);
int gym_check(Words args);
int gym_eval(Words args);
int gym_verify(Words args);

// Environments of the build in order of their names; none named, or "all": every one.
using Environments = std::vector<const gym::NamedEnvironment*>;
bool means_all(const std::vector<std::string>& names);
Environments environments_named(const char* verb, const std::vector<std::string>& names);   // throws UsageError
const gym::NamedEnvironment& environment_named(const char* verb, const std::string& name);  // throws UsageError
gym::ProblemSplit parse_split_flag(const char* verb, const std::string& name);              // throws UsageError
// Those of them that can judge answers on this machine. Throws Error for a name that cannot; of all, such are left out
// with a message.
Environments environments_to_judge(const char* verb, const std::vector<std::string>& names);

struct DifficultyRange {
  int64_t low = 0, high = 4;
};
DifficultyRange read_difficulties(const char* verb, const std::string& text);  // "3" or "0-4"; throws UsageError

// These environments at these difficulties. Where a split has too few problems, throws Error if the environment was asked
// for by name; else that difficulty is left out, and named on stderr.
enum class Missing { refused, left_out };
inline Missing missing_of(const std::vector<std::string>& names) {
  return means_all(names) ? Missing::left_out : Missing::refused;
}
std::vector<gym::EnvironmentAt> with_split(const Environments& environments, const DifficultyRange& range,
                                           const gym::SplitChoice& choice, Missing missing);

}  // namespace quern::cli
