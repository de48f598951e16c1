// Map of all verbs and flags, collected from their own declarations: while a map is recorded, a verb that would print
// `--help` adds what it declares to the map instead. Shell completion is generated from it, so there is no second list
// of verbs or flags.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace quern::cli {

struct CliFlag {
  std::vector<std::string> names;
  std::string help;
  bool takes_value = false;
};
struct CliVerb {
  std::string name, help;
};
struct CliPlace {
  std::string path;  // "recall index"; "" is quern itself
  std::vector<CliFlag> flags = {};
  std::vector<CliVerb> verbs = {};  // what may follow; none: files do
};

bool mapped(const CliPlace& place);  // false: no map is being drawn, print the help
std::vector<CliPlace> draw_cli_map(const std::function<void()>& ask_all);  // what was mapped while it ran

// bash, zsh or fish; throws UsageError for another.
std::string completion_script(const std::string& shell, const std::vector<CliPlace>& places);

}  // namespace quern::cli
