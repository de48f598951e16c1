// What a phase learns from, by name: environments of the gym, and the task files of its recipe.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "quern/gym/difficulty.h"
#include "quern/gym/environment_registry.h"
#include "quern/train/recipe/rl_config.h"

namespace quern::rl {

class Environments {
 public:
  // Task files are seen from `base`. Throws Error for one that cannot be read, a name that is none, one that is there
  // twice, and an environment that cannot judge on this machine.
  Environments(const train::RlConfig& c, const std::filesystem::path& base);

  const std::vector<std::string>& names() const { return names_; }
  const gym::NamedEnvironment& find(const std::string& name) const;
  gym::LearnerDifficulties difficulties() const;  // at their start; none rises above where its problems stay as hard

 private:
  std::vector<std::string> names_;
  gym::EnvironmentRegistry tasks_;
  gym::DifficultyOptions difficulty_;
};

}  // namespace quern::rl
