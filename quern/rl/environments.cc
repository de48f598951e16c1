#include "quern/rl/environments.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/gym/task_environment.h"

namespace quern::rl {

Environments::Environments(const train::RlConfig& c, const std::filesystem::path& base)
    : names_(c.environments), difficulty_(c.difficulty) {
  names_.insert(names_.end(), c.tasks.begin(), c.tasks.end());
  for (auto at = names_.begin(); at != names_.end(); ++at)
    if (std::find(names_.begin(), at, *at) != at) fail("'{}' is there twice", *at);
  for (const std::string& file : c.tasks)
    tasks_.add(file, "tasks of a file", gym::task_environment(base / file), "task files");
  for (const std::string& name : names_)
    if (const auto why = find(name).environment->unavailable())
      fail("environment '{}' cannot judge answers here: {}", name, *why);
}

const gym::NamedEnvironment& Environments::find(const std::string& name) const {
  for (const gym::NamedEnvironment& e : tasks_.environments())
    if (e.name == name) return e;
  return gym::plugin_environments().find(name);
}

gym::LearnerDifficulties Environments::difficulties() const {
  gym::LearnerDifficulties all(names_, difficulty_);
  for (const std::string& name : names_)
    if (const auto last = find(name).environment->saturates_at()) all.limit(name, *last);
  return all;
}

}  // namespace quern::rl
