// The environments of this build by name. A folder quern/gym/NAME/, or one outside the tree (QUERN_EXTRA_ROOMS), adds
// its environments through register_NAME(EnvironmentRegistry&). See docs/gym/adding-an-environment.md.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "quern/gym/environment.h"

namespace quern::gym {

struct NamedEnvironment {
  std::string name, summary, group;
  std::unique_ptr<const Environment> environment;

  // A function of name, seed and difficulty. Throws Error for a difficulty outside 0 to kMaxDifficulty, and naming all
  // three where the environment throws.
  Problem generate(uint64_t seed, int64_t difficulty) const;
  Verdict verify(const Problem& p, std::string_view reply) const { return environment->verify(p, reply); }
};

// Guards against overflow and questions of many megabytes; no learner gets there.
constexpr int64_t kMaxDifficulty = 10000;

inline constexpr std::array<std::string_view, 10> kEnvironmentGroups = {
    "arithmetic and algebra", "counting and probability", "data and tables",       "games",
    "geometry on grids",      "graphs and search",        "logic and constraints", "programs",
    "strings and languages",  "time and calendars"};

class EnvironmentRegistry {
 public:
  // `group`: what people look for it under, in lists. Those of Quern are in kEnvironmentGroups; another may be any.
  void add(std::string name, std::string summary, std::unique_ptr<const Environment> e, std::string group = "other");
  const NamedEnvironment& find(const std::string& name) const;  // throws Error for a name that is none
  const std::vector<NamedEnvironment>& environments() const { return environments_; }

 private:
  std::vector<NamedEnvironment> environments_;  // by name
};

// Calls register_NAME of every environment's folder; written by cmake/plugins.cmake.
void register_environment_plugins(EnvironmentRegistry& r);
const EnvironmentRegistry& plugin_environments();  // of this build

}  // namespace quern::gym
