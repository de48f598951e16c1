// Dispatches by a table of verbs, and prints the table as help.
#include "apps/quern/cli/menu.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/cli_map.h"
#include "quern/base/nearest.h"

namespace quern::cli {
namespace {

// Verbs that people type for one another.
constexpr std::array<std::array<std::string_view, 4>, 5> kAlike = {{
    {"query", "search", "ask", "find"},
    {"delete", "forget", "remove", "rm"},
    {"index", "add", "import", "insert"},
    {"sessions", "list", "ls", "history"},
    {"show", "info", "stats", "cat"},
}};

std::string hint(std::string_view word, const std::vector<std::string>& names) {
  if (std::string near = did_you_mean(word, names); !near.empty()) return near;
  for (const auto& alike : kAlike)
    if (std::ranges::find(alike, word) != alike.end())
      for (const std::string_view other : alike)
        if (std::ranges::find(names, other) != names.end()) return fmt::format("; did you mean '{}'?", other);
  return "";
}

}  // namespace

int choose(const char* path, const char* summary, std::span<const MenuItem> items, Words args) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h") {
    CliPlace place{.path = path};
    for (const MenuItem& i : items) place.verbs.push_back({i.name, i.help});
    if (mapped(place)) {
      for (const MenuItem& i : items) i.run(args);
      return 0;
    }
    std::vector<std::string> left;
    size_t width = 0;
    for (const MenuItem& i : items) {
      left.push_back(*i.words ? fmt::format("{} {}", i.name, i.words) : i.name);
      const auto letters = std::ranges::count_if(left.back(), [](char c) { return (c & 0xc0) != 0x80; });
      width = std::max(width, static_cast<size_t>(letters));
    }
    fmt::print("quern {} — {}\n\nusage: quern {} VERB …\n\n", path, summary, path);
    for (size_t i = 0; i < items.size(); ++i) fmt::print("  {:<{}}  {}\n", left[i], width, items[i].help);
    fmt::print("\n'quern {} VERB --help' lists the flags of a verb.\n", path);
    return args.empty() ? 2 : 0;
  }
  std::vector<std::string> names;
  for (const MenuItem& i : items) {
    if (args[0] == i.name) return i.run(args.subspan(1));
    names.emplace_back(i.name);
  }
  const std::string near = hint(args[0], names);
  throw UsageError(near.empty() ? fmt::format("quern {}: unknown verb '{}', expected one of {}", path, args[0],
                                              fmt::join(names, ", "))
                                : fmt::format("quern {}: unknown verb '{}'{}", path, args[0], near));
}

}  // namespace quern::cli
