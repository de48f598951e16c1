// Names, difficulties and splits as the verbs of quern gym read them.
#include <set>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/wrong_usage.h"
#include "apps/quern/gym/gym_commands.h"
#include "quern/base/nearest.h"

namespace quern::cli {

bool means_all(const std::vector<std::string>& names) {
  return names.empty() || (names.size() == 1 && names[0] == "all");
}

const gym::NamedEnvironment& environment_named(const char* verb, const std::string& name) {
  std::vector<std::string> known;
  for (const gym::NamedEnvironment& e : gym::plugin_environments().environments()) {
    if (e.name == name) return e;
    known.push_back(e.name);
  }
  if (name == "all") throw UsageError(fmt::format("quern {}: all stands alone: give it without further names", verb));
  throw UsageError(fmt::format("quern {}: no environment '{}'{} (quern gym list shows them)", verb, name,
                               did_you_mean(name, known)));
}

gym::ProblemSplit parse_split_flag(const char* verb, const std::string& name) {
  return checked_usage(verb, [&] { return gym::parse_split(name); });
}

Environments environments_named(const char* verb, const std::vector<std::string>& names) {
  const gym::EnvironmentRegistry& registry = gym::plugin_environments();
  std::set<const gym::NamedEnvironment*> chosen;
  if (!means_all(names))
    for (const std::string& name : names) chosen.insert(&environment_named(verb, name));
  Environments out;
  for (const gym::NamedEnvironment& e : registry.environments())
    if (chosen.empty() || chosen.contains(&e)) out.push_back(&e);
  return out;
}

Environments environments_to_judge(const char* verb, const std::vector<std::string>& names) {
  Environments out;
  for (const gym::NamedEnvironment* e : environments_named(verb, names)) {
    const std::optional<std::string> why = e->environment->unavailable();
    if (!why) {
      out.push_back(e);
    } else if (means_all(names)) {
      fmt::print(stderr, "quern: left out: {}: {}\n", e->name, *why);
    } else {
      fail("environment '{}' cannot judge answers here: {}", e->name, *why);
    }
  }
  return out;
}

DifficultyRange read_difficulties(const char* verb, const std::string& text) {
  const auto number = [&](const std::string& part) -> int64_t {
    if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != part.npos ||
        std::stoll(part) > gym::kMaxDifficulty)
      throw UsageError(fmt::format("quern {}: --difficulty '{}': expected 0 to {}, or a range such as 0-4", verb,
                                   text, gym::kMaxDifficulty));
    return std::stoll(part);
  };
  const size_t dash = text.find('-');
  const int64_t low = number(text.substr(0, dash));
  const DifficultyRange range{low, dash == text.npos ? low : number(text.substr(dash + 1))};
  if (range.low > range.high)
    throw UsageError(fmt::format("quern {}: --difficulty '{}': expected the lower one first", verb, text));
  return range;
}

std::vector<gym::EnvironmentAt> with_split(const Environments& environments, const DifficultyRange& range,
                                           const gym::SplitChoice& choice, Missing missing) {
  std::vector<gym::EnvironmentAt> out;
  for (const gym::NamedEnvironment* e : environments)
    for (int64_t d = range.low; d <= range.high; ++d) try {
        gym::split_problem({e, d}, choice, 0);
        out.push_back({e, d});
      } catch (const std::exception& x) {
        if (missing == Missing::refused) throw;
        fmt::print(stderr, "quern: left out: {}\n", x.what());
      }
  if (out.empty())
    fail("no environment has problems of the {} split at these difficulties", split_name(choice.split));
  return out;
}

}  // namespace quern::cli
