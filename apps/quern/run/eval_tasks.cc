#include "apps/quern/run/eval_tasks.h"

#include "apps/quern/cli/line_file.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/gym/task_results.h"
#include "apps/quern/run/eval_model.h"
#include "quern/reason/eval_log.h"

namespace quern::cli {
namespace {

std::vector<gym::Task> chosen_tasks(const TaskEval& e) {
  std::vector<gym::Task> tasks = gym::read_tasks(e.file);
  if (e.split != "all") {
    const data::Split split = e.split == "train" ? data::Split::train : data::Split::held_out;
    std::erase_if(tasks, [&](const gym::Task& t) { return t.split != split; });
    if (tasks.empty()) fail("{}: no tasks of the {} split", e.file, e.split);
  }
  if (e.count > 0 && e.count < static_cast<int64_t>(tasks.size())) tasks.resize(static_cast<size_t>(e.count));
  return tasks;
}

Json evaluation_json(const TaskEval& e, const reason::TaskScores& scores, const reason::EvaluationCost& cost) {
  Json j = Json::object();
  j.set("model", e.model), j.set("tasks", e.file), j.set("split", e.split), j.set("think", e.options.plan.name());
  const Json all = task_scores_json(scores);
  for (const auto& [key, value] : all.as_object()) j.set(key, value);
  j.set("new_tokens", cost.new_tokens), j.set("prompt_tokens", cost.prompt_tokens);
  j.set("unfinished", cost.unfinished), j.set("refused", cost.refused), j.set("seconds", cost.seconds);
  return j;
}

}  // namespace

int eval_tasks(const TaskEval& e, const models::LoadOptions& weights) {
  const std::vector<gym::Task> tasks = chosen_tasks(e);  // before a model is loaded
  std::optional<reason::AnswerLog> earlier;
  if (!e.against.empty()) earlier = reason::AnswerLog::read(e.against).first_samples();
  reason::EvaluationOptions options = e.options;
  const LoadedModel m = load_to_evaluate(e.model, weights, options.generate);
  std::optional<LineFile> log;
  if (!e.log.empty()) log.emplace(e.log);
  reason::TaskProblems problems(tasks, e.samples);
  reason::AnswerLog now;
  int64_t asked = 0, right = 0;
  Progress progress;
  problems.on_answer([&](const reason::GradedAnswer& a) {
    ++asked, right += a.right;
    progress("{} replies, {} right", asked, right);
    const Json line = reason::task_log_line(problems.task_of(a.asked), a.asked.sample, a.verdict,
                                            a.result.best() ? a.result.best()->text : "");
    if (log) log->write(line.dump() + "\n");
    if (a.asked.sample == 0) now.add(line);
  });
  const reason::EvaluationCost cost = reason::evaluate(m.evaluated(), options, problems);
  if (log) log->commit();
  std::optional<reason::PairedCounts> pairs;
  if (earlier) pairs = reason::compare(*earlier, now);
  if (e.json) {
    Json j = evaluation_json(e, problems.scores(), cost);
    if (pairs) j.set("against", pairs->json());
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  print_task_scores(problems.scores());
  fmt::print("{} replies in {:.1f} s, {} tokens generated; {} without an answer\n", cost.asked, cost.seconds,
             cost.new_tokens, cost.unfinished);
  if (pairs) fmt::print("against {}: {}\n", e.against, pairs->text());
  return 0;
}

}  // namespace quern::cli
