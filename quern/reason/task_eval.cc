#include "quern/reason/task_eval.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/reason/eval_statistics.h"

namespace quern::reason {

void TaskScores::add(size_t task, const gym::Verdict& v) {
  TaskTally& t = tallies_.at(task);
  ++t.samples, t.right += v.reward == 1, t.reward += v.reward;
}

int64_t TaskScores::unanswered() const {
  return std::ranges::count_if(tallies_, [](const TaskTally& t) { return t.samples == 0; });
}

template <class Of>
TaskScore TaskScores::score(Of&& of) const {
  std::vector<TaskTally> counted;
  for (size_t i = 0; i < tallies_.size(); ++i)
    if (tallies_[i].samples > 0 && of(tasks_[i])) counted.push_back(tallies_[i]);
  TaskScore s{.tasks = static_cast<int64_t>(counted.size())};
  if (counted.empty()) return s;
  s.fewest = std::ranges::min(counted, {}, &TaskTally::samples).samples;
  const auto n = static_cast<double>(s.tasks);
  for (const TaskTally& t : counted) {
    const auto samples = static_cast<double>(t.samples);
    s.samples += t.samples, s.success += static_cast<double>(t.right) / samples / n,
        s.reward += t.reward / samples / n;
    for (const int64_t k : reported_k(s.fewest)) s.pass_at[k] += pass_at_k(t.samples, t.right, k) / n;
  }
  return s;
}

TaskScore TaskScores::all() const {
  return score([](const gym::Task&) { return true; });
}

std::map<std::string, TaskScore> TaskScores::by_verifier() const {
  std::map<std::string, TaskScore> out;
  for (size_t i = 0; i < tasks_.size(); ++i) {
    const std::string& kind = tasks_[i].problem.kind;
    if (tallies_[i].samples > 0 && !out.contains(kind))
      out[kind] = score([&](const gym::Task& t) { return t.problem.kind == kind; });
  }
  return out;
}

Json score_json(const TaskScore& s) {
  const Interval i = s.interval(s.success);
  Json j = Json::object(), intervals = Json::object();
  j.set("tasks", s.tasks), j.set("samples", s.samples), j.set("success", s.success);
  j.set("low", i.low), j.set("high", i.high), j.set("reward", s.reward);
  const auto set = [&](const std::string& name, double share) {
    const Interval of = s.interval(share);
    Json both = Json::array();
    both.push(of.low), both.push(of.high);
    j.set(name, share), intervals.set(name, std::move(both));
  };
  for (const auto& [k, share] : s.pass_at) set(fmt::format("pass@{}", k), share);
  if (s.fewest > 1 && s.samples == s.fewest * s.tasks) set(fmt::format("avg@{}", s.fewest), s.success);
  j.set("intervals", std::move(intervals));
  return j;
}

TaskProblems::TaskProblems(const std::vector<gym::Task>& tasks, int64_t samples)
    : tasks_(tasks), samples_(samples), scores_(tasks) {
  if (samples < 1) fail("{} samples per task: expected 1 or more", samples);
  for (size_t i = 0; i < tasks.size(); ++i) by_key_[tasks[i].problem.key] = i;
}

std::optional<EvalProblem> TaskProblems::next() {
  const int64_t task = next_ / samples_, sample = next_ % samples_;
  if (task >= static_cast<int64_t>(tasks_.size())) return {};
  return EvalProblem{.problem = tasks_[static_cast<size_t>(task)].problem,
                     .sampling_seed = static_cast<uint64_t>(next_++),
                     .index = task,
                     .sample = sample};
}

gym::Verdict TaskProblems::judge(const gym::Problem& p, std::string_view reply) const {
  return tasks_[by_key_.at(p.key)].verify(reply);
}

void TaskProblems::answered(const GradedAnswer& a) {
  scores_.add(static_cast<size_t>(a.asked.index), a.verdict);
  if (on_answer_) on_answer_(a);
}

Json task_log_line(const gym::Task& task, int64_t sample, const gym::Verdict& verdict, std::string_view response) {
  Json j = Json::object();
  j.set("id", task.id), j.set("sample", sample), j.set("verifier", task.problem.kind);
  j.set("question", task.problem.question), j.set("reward", verdict.reward), j.set("reason", verdict.reason);
  j.set("response", response);
  return j;
}

}  // namespace quern::reason
