// Compares deep e-prop, its ablations and the gradient: cosines, learning, cost (lab/eprop).
#include "apps/quern/lab/learn_eprop.h"

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/lab/study_flags.h"
#include "lab/eprop/study.h"
#include "quern/base/json.h"

namespace quern::cli {
namespace {

// Flags the studies share.
struct StackFlags {
  std::string task = "motif";
  std::vector<std::string> delays, leaks;
  int64_t units = 32, layers = 2, seed = 0;
  bool diagonal = false, biases = false, json = false;
  lab::SpikingUnits spiking;

  template <class V>
  void visit(V& v) {
    v("task", task,
      "motif (which way did most ramps go?), recall (which value was stored?) or evidence (which side had more?)",
      {.value = "NAME"});
    v("delay", delays, "steps between the last cue and the answer; repeatable",
      {.value = "N", .shown_default = "set by the study"});
    v("units", units, "units per layer");
    v("layers", layers, "number of layers, with leaks from 0.5 (lowest layer) to 0.05; one layer has 0.05");
    v("leak", leaks, "leak of a layer, from the lowest up, instead of --layers; repeatable", {.value = "X"});
    v("diagonal", diagonal, "use diagonal recurrent matrices");
    v("biases", biases, "train biases");
    spiking.visit(v);
    v("seed", seed, "first random seed");
  }
  lab::StackShape shape() const {
    lab::StackShape s{.inputs = lab::task_inputs(lab::eprop_task(task)),
                      .units = units,
                      .classes = 2,
                      .leak = {},
                      .diagonal = diagonal,
                      .biases = biases,
                      .spiking = spiking};
    if (leaks.empty()) s.leak = lab::geometric_leaks(layers);
    for (const std::string& text : leaks) s.leak.push_back(number(text, "--leak"));
    lab::check(s);
    return s;
  }
  std::vector<int64_t> all_delays(std::vector<int64_t> otherwise) const {
    if (delays.empty()) return otherwise;
    otherwise.clear();
    for (const std::string& text : delays) {
      const double d = number(text, "--delay");
      if (d < 0 || d > 100000 || d != static_cast<double>(static_cast<int64_t>(d)))
        throw UsageError(fmt::format("--delay '{}': expected a whole number from 0 to 100000", text));
      otherwise.push_back(static_cast<int64_t>(d));
    }
    return otherwise;
  }
  static double number(const std::string& text, const char* flag) {
    size_t used = 0;
    double x = 0;
    try {
      x = std::stod(text, &used);
    } catch (const std::logic_error&) {
    }
    if (text.empty() || used != text.size()) throw UsageError(fmt::format("{} '{}': expected a number", flag, text));
    return x;
  }
};

Json numbers(const std::vector<double>& x) {
  Json j = Json::array();
  for (double v : x) j.push(v);
  return j;
}

int cosine_study(Words args) {
  StackFlags f;
  lab::CosineOptions o;
  Args a("research eprop cosine", "cosine similarity of each rule's gradient and the true one, at random weights");
  SeedCount count{o.seeds};
  a.settings(f).settings(o).settings(count).json(f.json);
  if (!a.parse(args)) return 0;
  o.seeds = count.seeds;
  o.shape = f.shape(), o.task.task = lab::eprop_task(f.task), o.seed = static_cast<uint64_t>(f.seed);
  Json j = Json::object();
  j.set("task", f.task), j.set("units", f.units), j.set("leak", numbers(o.shape.leak)), j.set("seeds", o.seeds);
  Json by_delay = Json::object();
  Progress progress;
  for (int64_t delay : f.all_delays({6, 12, 20, 50})) {
    progress("delay {}", delay);
    o.task.delay = delay;
    const auto cosines = lab::gradient_cosines(o);
    Json by_rule = Json::object();
    for (size_t k = 0; k < cosines.size(); ++k) {
      by_rule.set(lab::name_of(lab::kCreditRules[k]), numbers(cosines[k]));
      if (!f.json)
        fmt::print("delay {:<4} {:<16} {:.3f}\n", delay, lab::name_of(lab::kCreditRules[k]),
                   fmt::join(cosines[k], "  "));
    }
    by_delay.set(std::to_string(delay), by_rule);
  }
  j.set("delays", by_delay);  // by rule: a cosine for each layer, the lowest first
  if (f.json) fmt::print("{}\n", j.dump());
  return 0;
}

struct TrainFlags : lab::LearnOptions {
  template <class V>
  void visit(V& v) {
    lab::LearnOptions::visit(v);
    visit_optimizer(v, steps, rate);
  }
};

int train_study(Words args) {
  StackFlags f;
  TrainFlags o;
  SeedCount count{4};
  std::vector<std::string> names;
  Args a("research eprop train", "which rules learn a task, and how fast");
  a.settings(f)
      .flag("--rule NAME", names,
            "learning rule: bptt, full, ablate-temporal, ablate-spatial, no-carry or readout; repeatable [all]")
      .settings(o)
      .settings(count)
      .json(f.json);
  if (!a.parse(args)) return 0;
  a.check(o);
  const int64_t seeds = count.seeds;
  o.shape = f.shape(), o.task.task = lab::eprop_task(f.task), o.seed = static_cast<uint64_t>(f.seed);
  std::vector<lab::CreditRule> rules;
  for (const std::string& name : names) rules.push_back(lab::credit_rule(name));
  if (rules.empty()) rules.assign(lab::kCreditRules.begin(), lab::kCreditRules.end());
  Json j = Json::object();
  j.set("task", f.task), j.set("units", f.units), j.set("leak", numbers(o.shape.leak)), j.set("seeds", seeds);
  j.set("steps", o.steps);
  Json by_delay = Json::object();
  Progress progress;
  for (int64_t delay : f.all_delays({6, 20})) {
    o.task.delay = delay;
    const auto outcomes = lab::learn_task_by(o, rules, seeds, [&](int64_t done) {
      progress("delay {}: {} of {} runs", delay, done, static_cast<int64_t>(rules.size()) * seeds);
    });
    Json by_rule = Json::object();
    for (size_t k = 0; k < rules.size(); ++k) {
      Json r = Json::object(), learned_at = Json::array(), accuracy = Json::array();
      double mean_accuracy = 0, mean_step = 0;  // a run that never got there counts with all its steps
      int64_t learned = 0;
      for (const lab::LearnOutcome& one : outcomes[k]) {
        learned += one.learned_at >= 0;
        learned_at.push(one.learned_at >= 0 ? Json(one.learned_at) : Json());
        accuracy.push(one.accuracy);
        mean_accuracy += one.accuracy / static_cast<double>(seeds);
        mean_step += static_cast<double>(one.learned_at >= 0 ? one.learned_at : o.steps) / static_cast<double>(seeds);
      }
      r.set("learnt", learned), r.set("mean_step", mean_step), r.set("mean_accuracy", mean_accuracy);
      r.set("learnt_at", learned_at), r.set("accuracy", accuracy);
      if (!f.json)
        fmt::print("delay {:<4} {:<16} learned {} of {}, mean step {:.0f}, accuracy {:.3f}\n", delay,
                   lab::name_of(rules[k]), learned, seeds, mean_step, mean_accuracy);
      by_rule.set(lab::name_of(rules[k]), r);
    }
    by_delay.set(std::to_string(delay), by_rule);
  }
  j.set("delays", by_delay);
  if (f.json) fmt::print("{}\n", j.dump());
  return 0;
}

int cost_study(Words args) {
  StackFlags f;
  lab::CreditCostOptions o;
  f.units = 0;
  Args a("research eprop cost", "time and memory of deep e-prop in adjoint form, with traces, and of full RTRL");
  a.settings(f).settings(o).json(f.json).note("--units 0, the default, measures 8, 16, 32 and 64 units.");
  if (!a.parse(args)) return 0;
  lab::EpropTaskOptions task{.task = lab::eprop_task(f.task)};
  task.delay = f.all_delays({12}).front();
  Json rows = Json::array();
  for (int64_t units : f.units > 0 ? std::vector<int64_t>{f.units} : std::vector<int64_t>{8, 16, 32, 64}) {
    StackFlags one = f;
    one.units = units;
    const lab::CreditCost c = lab::credit_cost(one.shape(), task, o);
    Json r = Json::object();
    r.set("units", units), r.set("trace_bytes", c.trace_bytes), r.set("stored_bytes", c.stored_bytes);
    r.set("adjoint_s", c.adjoint_s), r.set("trace_s", c.trace_s);
    r.set("rtrl_s", units <= o.rtrl_units ? Json(c.rtrl_s) : Json());
    r.set("trace_over_adjoint", c.trace_s / c.adjoint_s);
    if (!f.json)
      fmt::print("{:>4} units  traces {:>12} bytes, stored {:>9}  adjoint {:.3g} s, trace {:.3g} s{}\n", units,
                 c.trace_bytes, c.stored_bytes, c.adjoint_s, c.trace_s,
                 units <= o.rtrl_units ? fmt::format(", rtrl {:.3g} s", c.rtrl_s) : "");
    rows.push(r);
  }
  Json j = Json::object();
  j.set("rows", rows);
  if (f.json) fmt::print("{}\n", j.dump());
  return 0;
}

constexpr MenuItem kItems[] = {
    {"cosine", "", "cosine similarity of each rule's gradient and the true one", cosine_study},
    {"train", "", "which rules learn a task, and how fast", train_study},
    {"cost", "", "time and memory of traces, the adjoint form and RTRL", cost_study},
};

}  // namespace

int learn_eprop(Words args) {
  return choose("research eprop", "deep e-prop compared with backpropagation, in leaky recurrent networks", kItems,
                args);
}

}  // namespace quern::cli
