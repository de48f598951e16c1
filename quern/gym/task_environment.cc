#include "quern/gym/task_environment.h"

#include <map>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/gym/task_file.h"

namespace quern::gym {
namespace {

class TaskEnvironment : public Environment {
 public:
  explicit TaskEnvironment(std::vector<Task> tasks) : tasks_(std::move(tasks)) {
    for (size_t i = 0; i < tasks_.size(); ++i) by_key_[tasks_[i].problem.key] = i;
  }
  Problem generate(Rng& r, int64_t) const override { return tasks_[r.below(tasks_.size())].problem; }
  Verdict verify(const Problem& p, std::string_view reply) const override {
    const auto at = by_key_.find(p.key);
    if (at == by_key_.end()) return {0, "no task has this question"};
    return tasks_[at->second].verify(reply);
  }
  std::optional<int64_t> saturates_at() const override { return 0; }
  std::optional<ProblemSplit> own_split(const Problem&) const override { return ProblemSplit::train; }

 private:
  std::vector<Task> tasks_;
  std::map<std::string, size_t> by_key_;
};

}  // namespace

std::unique_ptr<const Environment> task_environment(const std::filesystem::path& f) {
  std::vector<Task> tasks = read_tasks(f);
  std::erase_if(tasks, [](const Task& t) { return t.split != data::Split::train; });
  if (tasks.empty()) fail("{}: no task to learn from, all are held out", f.string());
  return std::make_unique<TaskEnvironment>(std::move(tasks));
}

}  // namespace quern::gym
