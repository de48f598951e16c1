#include "apps/quern/gym/task_results.h"

#include "quern/base/error.h"

namespace quern::cli {
namespace {

std::string share_text(double share, const reason::Interval& i) {
  return fmt::format("{:5.1f} %  [{:5.1f}, {:5.1f}]", 100 * share, 100 * i.low, 100 * i.high);
}

void print_row(const std::string& name, const reason::TaskScore& s, int64_t k) {
  fmt::print("{:<14} {:>6} {:>8}  {} {:>7.3f}", name, s.tasks, s.samples,
             share_text(s.success, s.interval(s.success)), s.reward);
  if (const auto at = s.pass_at.find(k); k > 1 && at != s.pass_at.end())
    fmt::print("  {}", share_text(at->second, s.interval(at->second)));
  fmt::print("\n");
}

}  // namespace

void print_task_scores(const reason::TaskScores& scores) {
  const reason::TaskScore all = scores.all();
  const auto verifiers = scores.by_verifier();
  fmt::print("{:<14} {:>6} {:>8}  {:<23} {:>7}", "verifier", "tasks", "replies", "success, 95 % interval", "reward");
  if (all.fewest > 1) fmt::print("  {}", fmt::format("pass@{}", all.fewest));
  fmt::print("\n");
  if (verifiers.size() > 1)
    for (const auto& [name, s] : verifiers) print_row(name, s, all.fewest);
  print_row(verifiers.size() == 1 ? verifiers.begin()->first : "all", all, all.fewest);
  if (const int64_t n = scores.unanswered(); n > 0)
    fmt::print(stderr, "quern: tasks without a reply, which are not counted: {}\n", n);
}

Json task_scores_json(const reason::TaskScores& scores) {
  Json j = Json::object(), verifiers = Json::object();
  for (const auto& [name, s] : scores.by_verifier()) verifiers.set(name, reason::score_json(s));
  j.set("all", reason::score_json(scores.all())), j.set("verifiers", std::move(verifiers));
  j.set("unanswered", scores.unanswered());
  return j;
}

}  // namespace quern::cli
