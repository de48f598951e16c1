// quern plan: sizes of models for a machine and a goal. The machine is this one, measured for some seconds, or a TOML
// file; the answer is a table of shapes by predicted loss, and for the best one where its time and memory go.
#include <algorithm>
#include <cmath>
#include <optional>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/train/plan_machine.h"
#include "quern/base/mmap.h"
#include "quern/plan/model_config.h"
#include "quern/plan/search.h"

namespace quern::cli {
namespace {

std::string short_count(double n) {  // 1.2 G, 340 M
  for (const auto& [size, unit] : {std::pair{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}})
    if (n >= size) return fmt::format("{:.{}f} {}", n / size, n / size < 10 ? 2 : n / size < 100 ? 1 : 0, unit);
  return fmt::format("{:.0f}", n);
}

std::string duration(double seconds) {
  if (seconds >= 172800) return fmt::format("{:.1f} days", seconds / 86400);
  if (seconds >= 7200) return fmt::format("{:.1f} h", seconds / 3600);
  if (seconds >= 120) return fmt::format("{:.1f} min", seconds / 60);
  return seconds >= 1 ? fmt::format("{:.2f} s", seconds) : fmt::format("{:.1f} ms", seconds * 1e3);
}

std::string gib(double bytes) { return fmt::format("{:.2f} GiB", bytes / (1024.0 * 1024 * 1024)); }

Json to_json(const plan::Planned& p) {
  Json j = Json::object(), memory = Json::object(), step = Json::object();
  j.set("family", std::string(plan::family_name(p.shape.family))), j.set("width", p.shape.width);
  j.set("layers", p.shape.layers), j.set("parameters", plan::parameters(p.shape));
  j.set("active_parameters", plan::active_parameters(p.shape)), j.set("tokens", p.tokens), j.set("steps", p.steps);
  j.set("days", p.days), j.set("predicted_loss", p.loss), j.set("batch_size", p.batch.sequences);
  j.set("micro_batch_size", p.batch.micro), j.set("accumulation", p.accumulation);
  memory.set("weights", p.memory.weights), memory.set("gradients", p.memory.gradients);
  memory.set("optimizer", p.memory.optimizer), memory.set("activations", p.memory.activations);
  j.set("memory_bytes", std::move(memory));
  step.set("products", p.step.products), step.set("attention", p.step.attention), step.set("other", p.step.other);
  step.set("optimizer", p.step.optimizer), step.set("communication", p.step.communication);
  step.set("exposed_communication", p.step.exposed), step.set("loading", p.step.loading);
  step.set("total", p.step.total());
  j.set("step_seconds", std::move(step));
  j.set("config", plan::model_config(p.shape, p.batch.context));
  return j;
}

void print_table(const std::vector<plan::Planned>& found) {
  fmt::print("{:<8}{:>7}{:>8}{:>12}{:>10}{:>10}{:>14}{:>10}{:>11}{:>11}\n", "family", "width", "layers", "parameters",
             "active", "tokens", "time", "loss", "step", "memory");
  for (const plan::Planned& p : found)
    fmt::print("{:<8}{:>7}{:>8}{:>12}{:>10}{:>10}{:>14}{:>10.3f}{:>11}{:>11}\n", plan::family_name(p.shape.family),
               p.shape.width, p.shape.layers, short_count(static_cast<double>(plan::parameters(p.shape))),
               short_count(plan::active_parameters(p.shape)), short_count(p.tokens), duration(p.days * 86400), p.loss,
               duration(p.step.total()), gib(p.memory.total()));
}

void print_step(const plan::Planned& p) {
  fmt::print("\nstep of the first: {} ({} sequences of {} tokens)\n", duration(p.step.total()), p.batch.sequences,
             p.batch.context);
  for (const auto& [name, seconds] : {std::pair{"matrix products", p.step.products},
                                      {"attention", p.step.attention},
                                      {"everything else", p.step.other},
                                      {"optimizer", p.step.optimizer},
                                      {"communication that shows", p.step.exposed},
                                      {"loading data", p.step.loading}})
    fmt::print("  {:<26}{:>10}{:>6.0f} %\n", name, duration(seconds / p.step.achieved),
               100 * seconds / p.step.achieved / p.step.total());
  if (p.step.achieved < 1)
    fmt::print("  (whole steps of this machine were seen to reach {:.2f} of the computed speed)\n", p.step.achieved);
  fmt::print("memory of a device: {}\n", gib(p.memory.total()));
  for (const auto& [name, bytes] : {std::pair{"weights", p.memory.weights},
                                    {"gradients", p.memory.gradients},
                                    {"optimizer state", p.memory.optimizer},
                                    {"activations", p.memory.activations}})
    fmt::print("  {:<26}{:>10}\n", name, gib(bytes));
}

void print_layout(const plan::Planned& p, const plan::Machine& m) {
  fmt::print("layout: {} {}, {} sequences at a time, {} times a step\n", m.ranks(),
             m.ranks() == 1 ? "rank" : "ranks (data parallel, ZeRO stage 1)", p.batch.micro, p.accumulation);
  if (m.ranks() > 1)
    fmt::print("  communication of a step {}, buckets of gradients of {:.1f} MiB\n", duration(p.step.communication),
               plan::bucket_bytes(m) / (1024 * 1024));
  const int64_t of_expert = p.shape.experts > 0 ? p.batch.micro * p.batch.context / p.shape.experts : 0;
  if (of_expert > 0) {
    fmt::print("  an expert meets {} rows at a time\n", of_expert);
    if (of_expert < 128) fmt::print("  do: longer or more sequences at a time; below 128 rows products lose speed\n");
  }
  const plan::Checkpoint c = plan::checkpoint(p.shape, m);
  fmt::print("checkpoint: {}", gib(c.bytes));
  if (c.save_s > 0) fmt::print(", saved in {}", duration(c.save_s));
  if (c.every_s > 0)
    fmt::print(", every {} ({} steps): {:.1f} % of the time for saves and lost work", duration(c.every_s),
               std::max<int64_t>(1, std::llround(c.every_s / p.step.total())), 100 * c.lost_share);
  fmt::print("\n");
  const plan::Loading l = plan::loading(m, p.batch, p.step.total());
  fmt::print("data: {:.1f} MiB a step", l.bytes / (1024 * 1024));
  if (m.storage_iops > 0)
    fmt::print(", {:.0f} reads a second if every page is read on its own (the storage has {:.0f})", l.iops,
               m.storage_iops);
  fmt::print("\n");
}

struct PlanFlags {
  std::string machine, family;
  std::optional<double> days, tokens;
  std::optional<int64_t> batch;
  int64_t context = 512, vocab = 32000, most = 3;
  bool check = false, json = false;
};

int check(const PlanFlags& f, const plan::Goal& goal) {
  Json list = Json::array();
  if (!f.json)
    fmt::print("{:<8}{:>7}{:>8}{:>11}{:>12}{:>12}{:>9}\n", "family", "width", "layers", "sequences", "predicted",
               "measured", "ratio");
  for (const plan::Family family : goal.families)
    for (const StepCheck& c : check_steps(family, measure_this_machine(family))) {
      Json j = Json::object();
      j.set("family", std::string(plan::family_name(family))), j.set("width", c.shape.width);
      j.set("layers", c.shape.layers), j.set("sequences", c.rows), j.set("predicted_s", c.predicted);
      j.set("measured_s", c.measured), list.push(std::move(j));
      if (!f.json)
        fmt::print("{:<8}{:>7}{:>8}{:>11}{:>12}{:>12}{:>9.2f}\n", plan::family_name(family), c.shape.width,
                   c.shape.layers, c.rows, duration(c.predicted), duration(c.measured), c.predicted / c.measured);
    }
  if (f.json) fmt::print("{}\n", list.dump(2));
  return 0;
}

plan::Goal goal_of(const PlanFlags& f) {
  plan::Goal g;
  g.days = f.days.value_or(0), g.tokens = f.tokens.value_or(0), g.context = f.context, g.vocab = f.vocab,
  g.batch_tokens = f.batch.value_or(0);
  if (g.days <= 0 && g.tokens <= 0) g.days = 1;
  if (!f.family.empty()) g.families = {plan::parse_family(f.family)};
  if (f.family.empty()) g.families = {plan::Family::zaya, plan::Family::zamba2, plan::Family::llama};
  return g;
}

// On this machine every family has its own costs; a described machine has one set.
std::vector<plan::Planned> search(const PlanFlags& f, const plan::Goal& goal, plan::Machine& best_machine) {
  const auto most = static_cast<size_t>(f.most);
  if (!f.machine.empty()) {
    best_machine = plan::read_machine(f.machine);
    return plan::search(best_machine, goal, most);
  }
  std::vector<plan::Planned> all;
  size_t done = 0;
  for (const plan::Family family : goal.families) {
    fmt::print(stderr, "measuring training steps of small {} models, ten seconds on a quiet machine, {} of {} …\n",
               plan::family_name(family), ++done, goal.families.size());
    const plan::Machine m = measure_this_machine(family);
    plan::Goal one = goal;
    one.families = {family};
    const std::vector<plan::Planned> found = plan::search(m, one, most);
    if (!found.empty() && (all.empty() || found[0].loss < all[0].loss)) best_machine = m;
    all.insert(all.end(), found.begin(), found.end());
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.loss < b.loss; });
  }
  return all;
}

}  // namespace

int cmd_plan(Words args) {
  PlanFlags f;
  Args a("plan", "what size of model this machine can train by when");
  a.flag("--days D", f.days, "time for training, in days; 1 unless --tokens is given")
      .flag("--tokens N", f.tokens, "tokens to train on; with --days, shapes that take longer are left out")
      .flag("--machine FILE", f.machine, "a machine described in TOML instead of this one, see recipes/machines")
      .flag("--family NAME", f.family, "llama, zaya or zamba2 [all of them]")
      .flag("--context N", f.context, "length of the training sequences in tokens")
      .flag("--vocab N", f.vocab, "size of the vocabulary")
      .flag("--batch-tokens N", f.batch, "tokens of a step; by the size of the model if not given")
      .flag("--top N", f.most, "shapes of each family to show")
      .flag("--check-steps", f.check,
            "compare predicted and measured training steps of several shapes on this machine")
      .json(f.json)
      .note(
          "The predicted loss ranks shapes (the published scaling law of Chinchilla's data, refit); your corpus has "
          "a "
          "loss of its own. --json has each model's config for a recipe, and the sizes of its batches.");
  if (!a.parse(args)) return 0;
  if (f.most < 1) throw UsageError("quern plan: expected --top of at least 1");
  if (f.days.value_or(1) <= 0 || f.tokens.value_or(1) <= 0 || f.batch.value_or(1) <= 0)
    throw UsageError("quern plan: expected --days, --tokens and --batch-tokens above 0");
  if (f.context < 1 || f.vocab < 2)
    throw UsageError("quern plan: expected --context of at least 1, --vocab of at least 2");
  if (f.check && !f.machine.empty())
    throw UsageError("quern plan: --check-steps measures this machine; leave --machine out");
  const plan::Goal goal = goal_of(f);
  if (f.check) return check(f, goal);
  plan::Machine m;
  const std::vector<plan::Planned> found = search(f, goal, m);
  if (found.empty())
    fail("no shape fits: {:.1f} GiB of memory a device{}", m.memory_gib,
         goal.days > 0 && goal.tokens > 0 ? ", or none trains on so many tokens in the time" : "");
  plan::Goal same = goal;  // `m` is measured with models of the first one's family
  same.families = {found[0].shape.family};
  const std::vector<plan::Remedy> remedies = plan::remedies(m, same, found[0].loss);
  if (f.json) {
    Json j = Json::object(), list = Json::array(), better = Json::array();
    for (const plan::Planned& p : found) list.push(to_json(p));
    for (const plan::Remedy& r : remedies) {
      Json one = Json::object();
      one.set("change", r.change), one.set("predicted_loss", r.loss), better.push(std::move(one));
    }
    j.set("machine", write_value(m)), j.set("plans", std::move(list)), j.set("remedies", std::move(better));
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("{}: {} × {}, {:.2f} TFLOP/s and {:.1f} GiB each, {:.0f} GB/s\n\n", m.name, m.nodes, m.devices,
             m.product_tflops, m.memory_gib, m.memory_gbs);
  print_table(found);
  print_step(found[0]);
  print_layout(found[0], m);
  for (const plan::Remedy& r : remedies) fmt::print("with {}: loss {:.3f}\n", r.change, r.loss);
  return 0;
}

}  // namespace quern::cli
