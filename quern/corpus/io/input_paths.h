// Words of inputs as paths: a path that exists is itself, whatever is in its name (folders of partitions are called
// month=5); others may be patterns with *, ? or […], as the shell has them.
#pragma once
#include <string>
#include <vector>

namespace quern::corpus {

bool is_path_or_pattern(const std::string& word);                  // a path that exists, or a pattern that some have
std::vector<std::string> matching_paths(const std::string& word);  // sorted; throws Error for a pattern that none has
}  // namespace quern::corpus
