// quern gym check: the properties that every environment owes, over many seeds, and how fast it makes problems.
#include <algorithm>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/standard_output.h"
#include "apps/quern/gym/gym_commands.h"
#include "quern/base/json.h"
#include "quern/gym/properties.h"

namespace quern::cli {
namespace {

constexpr size_t kDetailShown = 2000;  // characters of a counterexample

struct Checked {
  const gym::NamedEnvironment* of;
  gym::PropertyReport report;
};

void print_violation(const Checked& c) {
  const gym::PropertyViolation& v = c.report.first.front();
  fmt::print("  {} does not have the property: {}\n  quern gym show {} --difficulty {} --seed {}\n{}\n", c.of->name,
             v.property, c.of->name, v.difficulty, v.seed, v.detail.substr(0, kDetailShown));
}

double median_speed(const std::vector<Checked>& all) {
  std::vector<double> speeds;
  for (const Checked& c : all) speeds.push_back(c.report.per_second());
  std::ranges::sort(speeds);
  return speeds[speeds.size() / 2];
}

Json to_json(const std::vector<Checked>& all) {
  Json list = Json::array(), j = Json::object();
  int64_t violations = 0;
  for (const Checked& c : all) {
    Json one = Json::object();
    one.set("name", c.of->name), one.set("problems", c.report.problems), one.set("violations", c.report.violations);
    one.set("problems_per_second", c.report.per_second());
    Json first = Json::array();
    for (const gym::PropertyViolation& v : c.report.first) {
      Json w = Json::object();
      w.set("property", v.property), w.set("difficulty", v.difficulty), w.set("seed", static_cast<int64_t>(v.seed));
      w.set("detail", v.detail);
      first.push(std::move(w));
    }
    one.set("first_violations", std::move(first));
    violations += c.report.violations;
    list.push(std::move(one));
  }
  j.set("environments", std::move(list)), j.set("violations", violations);
  j.set("median_problems_per_second", median_speed(all));
  return j;
}

}  // namespace

int gym_check(Words args) {
  std::vector<std::string> names;
  int64_t seeds = 10000;
  bool json = false;
  Args a("gym check", "check the properties of environments over many seeds, and their speed");
  a.rest("NAME", names)
      .flag("--seeds N", seeds, "number of problems per environment, spread over difficulties 0 to 13")
      .json(json)
      .note(
          "NAME is an environment of quern gym list, or all. Checked: the same seed gives the same problem; the "
          "worked "
          "solution earns 1; replies without an answer earn 0; no question holds a marker of the answer; problems "
          "differ, grow with the difficulty and saturate where the environment says. Exit status 1: a property does "
          "not hold. Problems per second are of one core.");
  if (!a.parse(args)) return 0;
  if (names.empty()) throw UsageError("quern gym check: NAME is missing: expected an environment, or all");
  if (seeds < 1) throw UsageError(fmt::format("quern gym check: --seeds {}: expected 1 or more", seeds));
  gym::EnvironmentCheck check{.blank_only = true};
  const auto difficulties = static_cast<int64_t>(check.difficulties.size());
  check.seeds = static_cast<uint64_t>((seeds + difficulties - 1) / difficulties);
  std::vector<Checked> all;
  const Environments chosen = environments_to_judge("gym check", names);
  int64_t violations = 0;
  if (!json) fmt::print("{:<20} {:>9} {:>11} {:>13}\n", "environment", "problems", "violations", "problems/s");
  for (const gym::NamedEnvironment* e : chosen) {
    const Checked& c = all.emplace_back(Checked{e, gym::check_properties(*e, check)});
    violations += c.report.violations;
    if (json) continue;
    fmt::print("{:<20} {:>9} {:>11} {:>13.0f}\n", e->name, c.report.problems, c.report.violations,
               c.report.per_second());
    if (c.report.violations > 0) print_violation(c);
    finish_output();
  }
  if (json)
    fmt::print("{}\n", to_json(all).dump());
  else if (all.size() > 1)
    fmt::print("{:<20} {:>9} {:>11} {:>13.0f}\n", "median", "", "", median_speed(all));
  return violations > 0 ? 1 : 0;
}

}  // namespace quern::cli
