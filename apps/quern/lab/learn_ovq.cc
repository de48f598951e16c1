// A small model learns to remember a few items and is tested on many: softmax attention, OVQ attention with any size
// of dictionary, a learned codebook, the delta rules and linear attention.
#include "apps/quern/lab/learn_ovq.h"

#include <numeric>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/whole_numbers.h"
#include "apps/quern/lab/study_flags.h"
#include "apps/quern/models/context.h"
#include "lab/ovq/association_study.h"
#include "lab/ovq/regression.h"
#include "lab/ovq/store.h"
#include "quern/base/json.h"
#include "quern/mixers/ovq/ovq.h"

namespace quern::cli {
namespace {

// What the studies of learned memories have in common.
struct StudyFlags {
  lab::MemoryOfStudy memory;
  lab::Lessons lessons;
  int64_t blocks, sequences, seed = 0;
  std::vector<std::string> test_rows = {}, train = {}, test = {}, fields = {};
  bool json = false;

  template <class Options>
  explicit StudyFlags(const Options& o)
      : memory(o.memory), lessons(o.lessons), blocks(o.blocks), sequences(o.test_sequences) {}
  template <class V>
  void visit(V& v) {
    memory.visit(v);
    v("test_dictionary", test_rows, "ovq: also test with a dictionary of N rows; repeatable",
      {.value = "N", .old_flags = "--test-rows"});
    v("set", fields, "change a field of the memory's mixer configuration; repeatable", {.value = "FIELD=JSON"});
    v("blocks", blocks, "number of blocks, each of windowed attention and the memory");
    v("train", train, "number of items to train with, the easiest first; repeatable",
      {.value = "N", .shown_default = "set by the study"});
    v("test", test, "number of items to test with; repeatable", {.value = "N", .shown_default = "set by the study"});
    visit_optimizer(v, lessons.steps, lessons.rate);
    v("sequences", sequences, "number of test sequences per setting");
    v("seed", seed, "random seed of the weights and the training sequences");
  }
  // Reads the command line into itself and `o`; false after --help.
  template <class Options>
  bool parse(Args& a, Words args, Options& o, int64_t max_items) {
    a.settings(*this).json(json);
    if (!a.parse(args)) return false;
    a.check(*this);
    if (sequences < 1) throw UsageError(fmt::format("--sequences {}: expected at least 1", sequences));
    if (blocks < 1) throw UsageError(fmt::format("--blocks {}: expected at least 1", blocks));
    for (const std::string& f : fields) {
      const size_t at = f.find('=');
      if (at == std::string::npos || at == 0) throw UsageError(fmt::format("--set '{}': expected FIELD=JSON", f));
      memory.fields[f.substr(0, at)] = Json::parse(f.substr(at + 1), fmt::format("--set {}", f.substr(0, at)));
    }
    o.memory = memory, o.lessons = lessons, o.blocks = blocks, o.test_sequences = sequences;
    o.test_rows = whole_numbers(test_rows, "--test-dictionary", {}, 1 << 20);
    o.train = whole_numbers(train, "--train", o.train, max_items);
    o.test = whole_numbers(test, "--test", o.test, max_items);
    o.seed = static_cast<uint64_t>(seed);
    return true;
  }
};

Json head_of(const lab::MemoryOfStudy& m, const lab::Lessons& l, uint64_t seed, double loss, double seconds) {
  Json j = Json::object();
  j.set("memory", m.kind), j.set("rows", m.rows), j.set("growth", m.growth), j.set("steps", l.steps);
  j.set("seed", static_cast<int64_t>(seed)), j.set("loss", loss), j.set("seconds", seconds);
  return j;
}

Json to_json(const lab::AssociationOptions& o, const lab::AssociationOutcome& out) {
  Json j = head_of(o.memory, o.lessons, o.seed, out.loss, out.seconds), by_rows = Json::object();
  j.set("state_floats", out.state_floats), j.set("parameters", out.parameters);
  for (const lab::AssociationOutcome::Row& r : out.accuracy) {
    Json by_n = Json::object();
    for (size_t i = 0; i < o.test.size(); ++i) by_n.set(std::to_string(o.test[i]), r.accuracy[i]);
    by_rows.set(std::to_string(r.rows), by_n);
  }
  j.set("accuracy", by_rows);  // by rows of the dictionary asked, then by things to remember
  return j;
}

int run_study(lab::Association task, Words args) {
  lab::AssociationOptions o;
  o.task = task;
  const std::string name(lab::name_of(task));
  if (task == lab::Association::copy)
    o.train = {8, 16, 32, 64}, o.test = {16, 32, 64, 128, 256}, o.lessons.steps = 1200;
  if (task == lab::Association::order || task == lab::Association::order_said) o.lessons.steps = 3000;
  StudyFlags f(o);
  Args a("research ovq " + name, "train a small model to recall few items, test it with many");
  if (!f.parse(a, args, o, lab::kAssociationKeys)) return 0;
  Progress progress;
  const lab::AssociationOutcome out = lab::study_association(
      nn::builtin_registry(), o,
      [&](int64_t step, double loss) { progress("step {} of {}, loss {:.3f}", step, o.lessons.steps, loss); });
  if (f.json) {
    fmt::print("{}\n", to_json(o, out).dump());
    return 0;
  }
  fmt::print("{} {}: {} parameters, {} floats of state, {:.0f} s, last loss {:.3f}\n", name, o.memory.kind,
             out.parameters, out.state_floats, out.seconds, out.loss);
  for (const lab::AssociationOutcome::Row& r : out.accuracy) {
    fmt::print("rows {:<6}", r.rows);
    for (size_t i = 0; i < o.test.size(); ++i) fmt::print("  {}: {:.3f}", o.test[i], r.accuracy[i]);
    fmt::print("\n");
  }
  return 0;
}

// Mean square errors: over the second half of the examples, where a function could be known, and example by example.
double second_half(const std::vector<double>& by_seen) {
  const size_t half = by_seen.size() / 2;
  return std::accumulate(by_seen.begin() + static_cast<std::ptrdiff_t>(half), by_seen.end(), 0.0) /
         static_cast<double>(by_seen.size() - half);
}

int regression_study(Words args) {
  lab::RegressionOptions o;
  StudyFlags f(o);
  Args a("research ovq regress", "train in-context regression on few functions, test it with more at once");
  if (!f.parse(a, args, o, lab::kRegressionTags)) return 0;
  Progress progress;
  const lab::RegressionOutcome out = lab::study_regression(nn::builtin_registry(), o, [&](int64_t step, double loss) {
    progress("step {} of {}, loss {:.3f}", step, o.lessons.steps, loss);
  });
  Json j = head_of(o.memory, o.lessons, o.seed, out.loss, out.seconds), by_rows = Json::object();
  auto add = [&](const std::string& name, const std::vector<std::vector<double>>& errors) {
    Json late = Json::object(), by_seen = Json::object();
    if (!f.json) fmt::print("{:<10}", name);
    for (size_t i = 0; i < o.test.size(); ++i) {
      Json all = Json::array();
      for (double e : errors[i]) all.push(e);
      late.set(std::to_string(o.test[i]), second_half(errors[i]));
      by_seen.set(std::to_string(o.test[i]), std::move(all));
      if (!f.json) fmt::print("  {}: {:.3f}", o.test[i], second_half(errors[i]));
    }
    if (!f.json) fmt::print("\n");
    Json one = Json::object();
    one.set("second_half", std::move(late)), one.set("by_examples_seen", std::move(by_seen));
    by_rows.set(name, std::move(one));
  };
  if (!f.json)
    fmt::print(
        "{}: {:.0f} s, last loss {:.3f}; mean squared error by number of functions, second half of the examples\n",
        o.memory.kind, out.seconds, out.loss);
  for (const lab::RegressionOutcome::Row& r : out.asked) add(std::to_string(r.rows), r.error);
  add("ridge", out.ridge);
  j.set("error", by_rows);  // by rows of the dictionary asked (and of ridge regression), then by functions
  if (f.json) fmt::print("{}\n", j.dump());
  return 0;
}

// Means over draws of what `ask` finds with a seed.
template <class F>
int mean_study(const std::vector<std::string>& names, int64_t seeds, bool json, F&& ask) {
  if (seeds < 1) throw UsageError(fmt::format("--seeds {}: expected at least 1", seeds));
  std::vector<double> mean(names.size(), 0.0);
  Progress progress;
  for (int64_t s = 0; s < seeds; ++s) {
    progress("draw {} of {}", s + 1, seeds);
    const std::vector<double> right = ask(static_cast<uint64_t>(s));
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += right[i] / static_cast<double>(seeds);
  }
  Json j = Json::object();
  for (size_t i = 0; i < mean.size(); ++i) {
    j.set(names[i], mean[i]);
    if (!json) fmt::print("{:<16} {:.3f}\n", names[i], mean[i]);
  }
  if (json) fmt::print("{}\n", j.dump());
  return 0;
}

int store_study(Words args) {
  lab::StoreOptions o;
  SeedCount count{3};
  bool json = false;
  Args a("research ovq store", "store random keys with a class each, then query them with noise; no training");
  a.settings(o).settings(count).json(json);
  if (!a.parse(args)) return 0;
  return mean_study(lab::store_memories(), count.seeds, json,
                    [&](uint64_t seed) { return lab::store_and_ask(o, seed); });
}

int needle_study(Words args) {
  lab::NeedleOptions o;
  SeedCount count{3};
  bool json = false;
  Args a("research ovq needles",
         "store unique keys among noisy copies of few prototypes, then query them with noise");
  a.settings(o).settings(count).json(json);
  if (!a.parse(args)) return 0;
  return mean_study(lab::needle_memories(), count.seeds, json,
                    [&](uint64_t seed) { return lab::find_needles(o, seed); });
}

template <lab::Association Task>
int associate(Words args) {
  return run_study(Task, args);
}

constexpr MenuItem kItems[] = {
    {"mqar", "", "multi-query associative recall: which value followed this key?", associate<lab::Association::mqar>},
    {"copy", "", "copying: repeat a sequence of symbols", associate<lab::Association::copy>},
    {"order", "", "keys with four values each: which one followed the second time?",
     associate<lab::Association::order>},
    {"order-said", "", "the same, with the number of the occurrence given", associate<lab::Association::order_said>},
    {"regress", "", "in-context regression: functions of eight numbers by examples", regression_study},
    {"store", "", "store and query random keys, without training", store_study},
    {"needles", "", "store and query few unique keys among many similar ones, without training", needle_study},
};

}  // namespace

int learn_ovq(Words args) {
  return choose("research ovq", "capacity of sequence memories: attention, OVQ, delta rules, linear attention",
                kItems, args);
}

}  // namespace quern::cli
