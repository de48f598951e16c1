// The environments of this build by name. A folder quern/gym/NAME/, or one outside the tree (QUERN_EXTRA_ROOMS), adds
// its environments through register_NAME(EnvironmentRegistry&). See docs/gym/adding-an-environment.md.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/gym/environment.h"

namespace quern::gym {

struct NamedEnvironment {
  std::string name, summary;
  std::unique_ptr<const Environment> environment;

  // A function of name, seed and difficulty. Throws Error for a difficulty outside 0 to kMaxDifficulty.
  Problem generate(uint64_t seed, int64_t difficulty) const;
  Verdict verify(const Problem& p, std::string_view reply) const { return environment->verify(p, reply); }
};

// Guards against overflow and questions of many megabytes; no learner gets there.
constexpr int64_t kMaxDifficulty = 10000;

class EnvironmentRegistry {
 public:
  void add(std::string name, std::string summary, std::unique_ptr<const Environment> e);
  const NamedEnvironment& find(const std::string& name) const;  // throws Error for a name that is none
  const std::vector<NamedEnvironment>& environments() const { return environments_; }

 private:
  std::vector<NamedEnvironment> environments_;  // by name
};

// Calls register_NAME of every environment's folder; written by cmake/plugins.cmake.
void register_environment_plugins(EnvironmentRegistry& r);
const EnvironmentRegistry& plugin_environments();  // of this build

}  // namespace quern::gym
