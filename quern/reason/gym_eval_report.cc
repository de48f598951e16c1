#include "quern/reason/gym_eval_report.h"

#include "quern/base/error.h"
#include "quern/html/html_template.h"
#include "quern/html/web_files.h"

namespace quern::reason {
namespace {

const html::HtmlTemplate& page() {
  static const html::HtmlTemplate t(html::web_file("gym_report.html"));
  return t;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

Json score_json(const DifficultyScore& s) {
  const Interval i = s.interval();
  Json j = Json::object();
  j.set("problems", s.problems()), j.set("samples", s.attempts()), j.set("right", s.all_right());
  j.set("success", s.success()), j.set("low", i.low), j.set("high", i.high), j.set("reward", s.mean_reward());
  for (int64_t k : reported_k(s.samples)) j.set(fmt::format("pass@{}", k), s.pass_at(k));
  if (s.samples > 1) j.set(fmt::format("avg@{}", s.samples), s.success());
  return j;
}

Json environment_json(const std::string& name, const EnvironmentScore& e) {
  Json j = Json::object(), difficulties = Json::array();
  j.set("name", name);
  if (e.level) {
    j.set("level", e.level->curve().level), j.set("level_deviation", e.level->level_deviation());
    j.set("slope", e.level->curve().slope), j.set("groups", e.level->groups());
  }
  for (const auto& [d, s] : e.by_difficulty) {
    Json one = Json::object();
    const Json score = score_json(s);
    one.set("difficulty", d);
    for (const auto& [key, value] : score.as_object()) one.set(key, value);
    difficulties.push(std::move(one));
  }
  j.set("difficulties", std::move(difficulties)), j.set("all", score_json(e.all()));
  return j;
}

DifficultyScore sum_of(const GymRun& r) {
  DifficultyScore sum;
  for (const auto& [name, e] : r.scores) {
    const DifficultyScore s = e.all();
    sum.samples = s.samples, sum.reward += s.reward;
    sum.right.insert(sum.right.end(), s.right.begin(), s.right.end());
  }
  return sum;
}

// One environment's chart: x is the difficulty, y the share that is solved.
class SuccessChart {
 public:
  explicit SuccessChart(const EnvironmentScore& e)
      : e_(e),
        low_(static_cast<double>(e.by_difficulty.begin()->first) - 0.5),
        high_(static_cast<double>(e.by_difficulty.rbegin()->first) + 0.5) {}

  std::string svg() const {
    std::string inside;
    for (int step = 0; step <= 4; ++step) {
      const double y = y_of(step / 4.0);
      inside += page().fill("chart-rule", {{"left", kLeft}, {"right", kWidth - kRight}, {"y", place(y)}});
      if (step % 2 == 0)
        inside += page().fill("chart-tick-y",
                              {{"x", kLeft - 6}, {"y", place(y + 4)}, {"text", fmt::format("{} %", 25 * step)}});
    }
    const int64_t first = e_.by_difficulty.begin()->first, last = e_.by_difficulty.rbegin()->first;
    const int64_t every = (last - first) / 6 + 1;
    for (int64_t d = first; d <= last; d += every)
      inside +=
          page().fill("chart-tick-x", {{"x", place(x_of(static_cast<double>(d)))}, {"y", kHeight - 8}, {"text", d}});
    if (e_.by_difficulty.size() > 1) inside += curve();
    for (const auto& [d, s] : e_.by_difficulty) inside += point(d, s);
    return page().fill("chart", {{"width", kWidth}, {"height", kHeight}, {"inside", inside}});
  }

 private:
  static constexpr int kWidth = 320, kHeight = 170, kLeft = 48, kRight = 10, kTop = 10, kBottom = 26;

  static std::string place(double v) { return fmt::format("{:.1f}", v); }
  double x_of(double difficulty) const {
    return kLeft + (difficulty - low_) / (high_ - low_) * (kWidth - kLeft - kRight);
  }
  static double y_of(double share) { return kTop + (1 - share) * (kHeight - kTop - kBottom); }

  std::string curve() const {
    const gym::ResponseCurve c = e_.curve();
    std::string points;
    for (int i = 0; i <= 60; ++i) {
      const double d = low_ + (high_ - low_) * i / 60;
      points += fmt::format("{}{},{}", i ? " " : "", place(x_of(d)), place(y_of(c.success(d))));
    }
    return page().fill("chart-curve", {{"points", points}});
  }

  std::string point(int64_t difficulty, const DifficultyScore& s) const {
    const Interval i = s.interval();
    return page().fill("chart-point", {{"x", place(x_of(static_cast<double>(difficulty)))},
                                       {"y", place(y_of(s.success()))},
                                       {"low", place(y_of(i.low))},
                                       {"high", place(y_of(i.high))},
                                       {"difficulty", difficulty},
                                       {"success", percent(s.success())},
                                       {"problems", s.problems()}});
  }

  const EnvironmentScore& e_;
  const double low_, high_;
};

std::string rows(const GymRun& r) {
  std::string out;
  for (const auto& [name, e] : r.scores)
    for (const auto& [d, s] : e.by_difficulty) {
      const Interval i = s.interval();
      std::string pass;
      if (r.samples > 1) pass = page().fill("cell", {{"value", percent(s.pass_at(r.samples))}});
      out += page().fill("row", {{"name", name},
                                 {"difficulty", d},
                                 {"problems", s.problems()},
                                 {"success", percent(s.success())},
                                 {"interval", fmt::format("{:.1f} to {:.1f}", 100 * i.low, 100 * i.high)},
                                 {"reward", fmt::format("{:.3f}", s.mean_reward())},
                                 {"pass", pass}});
    }
  return out;
}

std::string charts(const GymRun& r) {
  std::string out;
  for (const auto& [name, e] : r.scores) {
    std::string what = percent(e.all().success()) + " solved";
    if (e.level) what = "level " + e.level_text();
    out += page().fill("environment", {{"name", name}, {"what", what}, {"chart", SuccessChart(e).svg()}});
  }
  return out;
}

std::string tiles(const GymRun& r) {
  const DifficultyScore all = sum_of(r);
  std::string out;
  const auto tile = [&](const std::string& value, const std::string& what) {
    out += page().fill("tile", {{"value", value}, {"what", what}});
  };
  tile(std::to_string(r.scores.size()), r.scores.size() == 1 ? "environment" : "environments");
  tile(std::to_string(all.problems()), "problems");
  tile(percent(all.success()), r.samples > 1 ? fmt::format("success, avg@{}", r.samples) : "success");
  if (r.samples > 1) tile(percent(all.pass_at(r.samples)), fmt::format("pass@{}", r.samples));
  tile(fmt::format("{:.3f}", all.mean_reward()), "mean reward");
  if (r.pairs) tile(fmt::format("{:.3g}", r.pairs->mcnemar()), "p of McNemar's exact test");
  return out;
}

}  // namespace

Json gym_eval_json(const GymRun& r) {
  Json j = Json::object(), environments = Json::array();
  j.set("model", r.model), j.set("think", r.plan), j.set("split", r.split), j.set("seed", r.seed);
  j.set("samples", r.samples), j.set("calibrated", r.calibrated);
  for (const auto& [name, e] : r.scores) environments.push(environment_json(name, e));
  j.set("environments", std::move(environments)), j.set("all", score_json(sum_of(r)));
  if (r.pairs) j.set("against", r.pairs->json());
  j.set("new_tokens", r.cost.new_tokens), j.set("prompt_tokens", r.cost.prompt_tokens);
  j.set("unfinished", r.cost.unfinished), j.set("refused", r.cost.refused), j.set("seconds", r.cost.seconds);
  return j;
}

std::string gym_eval_page(const GymRun& r) {
  std::string pairs;
  if (const auto& p = r.pairs)
    pairs = page().fill("pairs", {{"both", p->both},
                                  {"first", p->only_first},
                                  {"second", p->only_second},
                                  {"neither", p->neither},
                                  {"p", fmt::format("{:.3g}", p->mcnemar())}});
  std::string pass;
  if (r.samples > 1) pass = page().fill("heading", {{"name", fmt::format("pass@{}", r.samples)}});
  return page().fill("page", {{"style", html::web_file("gym_report.css")},
                              {"model", r.model},
                              {"split", r.split},
                              {"seed", r.seed},
                              {"plan", r.plan},
                              {"tiles", tiles(r)},
                              {"pairs", pairs},
                              {"charts", charts(r)},
                              {"pass", pass},
                              {"rows", rows(r)}});
}

}  // namespace quern::reason
