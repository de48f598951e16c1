#include "quern/gym/environment_registry.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::gym {

Problem NamedEnvironment::generate(uint64_t seed, int64_t difficulty) const {
  if (difficulty < 0 || difficulty > kMaxDifficulty)
    fail("environment '{}': difficulty {}: expected 0 to {}", name, difficulty, kMaxDifficulty);
  uint64_t stream = static_cast<uint64_t>(difficulty);
  for (unsigned char c : name) stream = mix64(stream * 31 + c + 1);
  Rng r(mix64(seed), stream);
  Problem p;
  try {
    p = environment->generate(r, difficulty);
  } catch (const std::exception& x) {
    fail("environment '{}' at difficulty {}, seed {}: generate: {}", name, difficulty, seed, x.what());
  }
  p.kind = name, p.difficulty = difficulty;
  return p;
}

void EnvironmentRegistry::add(std::string name, std::string summary, std::unique_ptr<const Environment> e,
                              std::string group) {
  const auto at = std::ranges::lower_bound(environments_, name, {}, &NamedEnvironment::name);
  QUERN_CHECK(!name.empty() && (at == environments_.end() || at->name != name),
              "environment '{}' registered twice or without a name", name);
  QUERN_CHECK(!group.empty(), "environment '{}' has an empty group", name);
  environments_.insert(at, {std::move(name), std::move(summary), std::move(group), std::move(e)});
}

const NamedEnvironment& EnvironmentRegistry::find(const std::string& name) const {
  std::vector<std::string> known;
  for (const NamedEnvironment& e : environments_) {
    if (e.name == name) return e;
    known.push_back(e.name);
  }
  fail("environment '{}': expected one of {}{}", name, fmt::join(known, ", "), did_you_mean(name, known));
}

const EnvironmentRegistry& plugin_environments() {
  static const EnvironmentRegistry registry = [] {
    EnvironmentRegistry r;
    register_environment_plugins(r);
    return r;
  }();
  return registry;
}

}  // namespace quern::gym
