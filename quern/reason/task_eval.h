// Evaluates a model on the tasks of a file (quern/gym/task_file.h), and what replies to tasks come to: the share that is
// right, pass@k, the mean reward, with Wilson's intervals over tasks.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "quern/gym/task_file.h"
#include "quern/reason/evaluation.h"
#include "quern/reason/interval.h"

namespace quern::reason {

// The replies to one task.
struct TaskTally {
  int64_t samples = 0, right = 0;
  double reward = 0;  // sum
};

// Tasks that have replies, each counted once however many it has.
struct TaskScore {
  int64_t tasks = 0, samples = 0;
  double success = 0, reward = 0;          // means over tasks; the success is pass@1 and avg@samples
  int64_t fewest = 0;                      // replies to a task
  std::map<int64_t, double> pass_at = {};  // k = 1, 2, 4, … and `fewest`
  Interval interval(double share) const { return wilson_of_share(share, static_cast<double>(tasks)); }
};

class TaskScores {
 public:
  explicit TaskScores(const std::vector<gym::Task>& tasks) : tasks_(tasks), tallies_(tasks.size()) {}
  void add(size_t task, const gym::Verdict& v);
  int64_t unanswered() const;  // tasks without a reply
  TaskScore all() const;
  std::map<std::string, TaskScore> by_verifier() const;

 private:
  template <class Of>
  TaskScore score(Of&& of) const;
  const std::vector<gym::Task>& tasks_;
  std::vector<TaskTally> tallies_;
};
Json score_json(const TaskScore& s);

// Each task in order, asked `samples` times. The tasks must outlive it.
class TaskProblems : public ProblemSource {
 public:
  TaskProblems(const std::vector<gym::Task>& tasks, int64_t samples);  // throws Error for fewer than one sample
  std::optional<EvalProblem> next() override;
  gym::Verdict judge(const gym::Problem& p, std::string_view reply) const override;
  gym::Verdict refused(const EvalProblem&, const std::string& why) override { return {0, why}; }
  void answered(const GradedAnswer& a) override;
  void on_answer(AnswerEvent f) { on_answer_ = std::move(f); }
  const TaskScores& scores() const { return scores_; }
  const gym::Task& task_of(const EvalProblem& p) const { return tasks_[static_cast<size_t>(p.index)]; }

 private:
  const std::vector<gym::Task>& tasks_;
  int64_t samples_, next_ = 0;
  std::map<std::string, size_t> by_key_;
  TaskScores scores_;
  AnswerEvent on_answer_;
};

// One line of an evaluation's log; quern gym verify reads it as a reply.
Json task_log_line(const gym::Task& task, int64_t sample, const gym::Verdict& verdict, std::string_view response);

}  // namespace quern::reason
