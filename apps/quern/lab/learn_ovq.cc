// A small model learns to remember a few items and is tested on many: softmax attention, OVQ attention with any size
// of dictionary, a learned codebook, the delta rules and linear attention.
#include "apps/quern/lab/learn_ovq.h"

#include <numeric>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/menu.h"
#include "apps/quern/cli/progress.h"
#include "apps/quern/cli/whole_numbers.h"
#include "apps/quern/models/context.h"
#include "lab/ovq/association_study.h"
#include "lab/ovq/regression.h"
#include "lab/ovq/store.h"
#include "quern/base/json.h"
#include "quern/mixers/ovq/ovq.h"

namespace quern {
namespace {

// What the studies of learned memories have in common.
struct StudyFlags {
  std::vector<std::string> test_rows, train, test, fields;
  int64_t seed = 0;
  bool no_bias = false, drawn = false, json = false;

  void declare(Args& a, MemoryOfStudy& m, Lessons& l, int64_t& blocks, int64_t& sequences) {
    a.flag("--memory NAME", m.kind, "memory under test: softmax, ovq, vq, delta, gated-delta or linear")
        .flag("--dictionary N", m.rows, "ovq: rows of the dictionary; vq: codes of the codebook")
        .alias("--rows")
        .flag("--test-dictionary N", test_rows, "ovq: also test with a dictionary of N rows; repeatable")
        .alias("--test-rows")
        .flag("--growth NAME", m.growth, "ovq: growth of the dictionary: plateau, greedy or linear")
        .flag("--chunk N", m.chunk, "ovq, vq: tokens between two writes")
        .flag("--no-count-bias", no_bias, "ovq: do not add the counts of rows to the attention logits")
        .flag("--random-rows", drawn, "ovq: open new rows at randomly chosen tokens")
        .flag("--set FIELD=JSON", fields, "change a field of the memory's mixer configuration; repeatable")
        .flag("--blocks N", blocks, "number of blocks, each of windowed attention and the memory")
        .flag("--train N", train, "number of items to train with, the easiest first; repeatable [set by the study]")
        .flag("--test N", test, "number of items to test with; repeatable [set by the study]")
        .flag("--steps N", l.steps, "number of AdamW steps")
        .flag("--rate X", l.rate, "learning rate")
        .flag("--sequences N", sequences, "number of test sequences per setting")
        .flag("--seed N", seed, "random seed of the weights and the training sequences")
        .flag("--json", json, "print one JSON object");
  }
  void apply(MemoryOfStudy& m, const Lessons& l, int64_t blocks, int64_t sequences) const {
    if (l.steps < 0) throw UsageError(fmt::format("--steps {}: expected 0 or more", l.steps));
    if (sequences < 1) throw UsageError(fmt::format("--sequences {}: expected at least 1", sequences));
    if (blocks < 1) throw UsageError(fmt::format("--blocks {}: expected at least 1", blocks));
    m.count_bias = !no_bias, m.spread = !drawn;
    for (const std::string& f : fields) {
      const size_t at = f.find('=');
      if (at == std::string::npos || at == 0) throw UsageError(fmt::format("--set '{}': expected FIELD=JSON", f));
      m.fields[f.substr(0, at)] = Json::parse(f.substr(at + 1), fmt::format("--set {}", f.substr(0, at)));
    }
  }
};

Json head_of(const MemoryOfStudy& m, const Lessons& l, uint64_t seed, double loss, double seconds) {
  Json j = Json::object();
  j.set("memory", m.kind), j.set("rows", m.rows), j.set("growth", m.growth), j.set("steps", l.steps);
  j.set("seed", static_cast<int64_t>(seed)), j.set("loss", loss), j.set("seconds", seconds);
  return j;
}

Json to_json(const AssociationOptions& o, const AssociationOutcome& out) {
  Json j = head_of(o.memory, o.lessons, o.seed, out.loss, out.seconds), by_rows = Json::object();
  j.set("state_floats", out.state_floats), j.set("parameters", out.parameters);
  for (const AssociationOutcome::Row& r : out.accuracy) {
    Json by_n = Json::object();
    for (size_t i = 0; i < o.test.size(); ++i) by_n.set(std::to_string(o.test[i]), r.accuracy[i]);
    by_rows.set(std::to_string(r.rows), by_n);
  }
  j.set("accuracy", by_rows);  // by rows of the dictionary asked, then by things to remember
  return j;
}

int run_study(Association task, Words args) {
  AssociationOptions o;
  o.task = task;
  const std::string name(name_of(task));
  if (task == Association::copy) o.train = {8, 16, 32, 64}, o.test = {16, 32, 64, 128, 256}, o.lessons.steps = 1200;
  if (task == Association::order || task == Association::order_said) o.lessons.steps = 3000;
  StudyFlags f;
  Args a("research ovq " + name, "train a small model to recall few items, test it with many");
  f.declare(a, o.memory, o.lessons, o.blocks, o.test_sequences);
  if (!a.parse(args)) return 0;
  f.apply(o.memory, o.lessons, o.blocks, o.test_sequences);
  o.test_rows = whole_numbers(f.test_rows, "--test-dictionary", {}, 1 << 20);
  o.train = whole_numbers(f.train, "--train", o.train, kAssociationKeys);
  o.test = whole_numbers(f.test, "--test", o.test, kAssociationKeys);
  o.seed = static_cast<uint64_t>(f.seed);
  Progress progress;
  const AssociationOutcome out = study_association(builtin_registry(), o, [&](int64_t step, double loss) {
    progress("step {} of {}, loss {:.3f}", step, o.lessons.steps, loss);
  });
  if (f.json) {
    fmt::print("{}\n", to_json(o, out).dump());
    return 0;
  }
  fmt::print("{} {}: {} parameters, {} floats of state, {:.0f} s, last loss {:.3f}\n", name, o.memory.kind,
             out.parameters, out.state_floats, out.seconds, out.loss);
  for (const AssociationOutcome::Row& r : out.accuracy) {
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
  RegressionOptions o;
  StudyFlags f;
  Args a("research ovq regress", "train in-context regression on few functions, test it with more at once");
  f.declare(a, o.memory, o.lessons, o.blocks, o.test_sequences);
  if (!a.parse(args)) return 0;
  f.apply(o.memory, o.lessons, o.blocks, o.test_sequences);
  o.test_rows = whole_numbers(f.test_rows, "--test-dictionary", {}, 1 << 20);
  o.train = whole_numbers(f.train, "--train", o.train, kRegressionTags);
  o.test = whole_numbers(f.test, "--test", o.test, kRegressionTags);
  o.seed = static_cast<uint64_t>(f.seed);
  Progress progress;
  const RegressionOutcome out = study_regression(builtin_registry(), o, [&](int64_t step, double loss) {
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
  for (const RegressionOutcome::Row& r : out.asked) add(std::to_string(r.rows), r.error);
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
  StoreOptions o;
  int64_t seeds = 3;
  bool json = false;
  Args a("research ovq store", "store random keys with a class each, then query them with noise; no training");
  a.flag("--items N", o.items, "number of keys")
      .flag("--repeats N", o.repeats,
            "number of times each key is written, with new noise each time if more than once")
      .flag("--dictionary N", o.dictionary.rows, "rows of the dictionaries, codes of the codebook")
      .alias("--rows")
      .flag("--chunk N", o.dictionary.chunk, "tokens between two writes")
      .flag("--noise X", o.noise, "norm of the noise relative to the key")
      .flag("--seeds N", seeds, "number of seeds to average over")
      .flag("--json", json, "print one JSON object");
  if (!a.parse(args)) return 0;
  return mean_study(store_memories(), seeds, json, [&](uint64_t seed) { return store_and_ask(o, seed); });
}

int needle_study(Words args) {
  NeedleOptions o;
  int64_t seeds = 3;
  bool no_bias = false, json = false;
  Args a("research ovq needles",
         "store unique keys among noisy copies of few prototypes, then query them with noise");
  a.flag("--keys N", o.tokens, "total number of keys, needles and filler")
      .flag("--needles N", o.needles, "number of needles (unique keys)")
      .flag("--prototypes N", o.prototypes, "number of prototypes of the filler, the i-th with weight 1/i")
      .flag("--front", o.front, "write the needles first")
      .flag("--dictionary N", o.dictionary.rows,
            "rows of the dictionaries, codes of the codebook, keys of the window")
      .alias("--rows")
      .flag("--chunk N", o.dictionary.chunk, "tokens between two writes")
      .flag("--no-count-bias", no_bias, "do not add the counts of rows to the attention logits")
      .flag("--noise X", o.noise, "norm of the noise relative to the key")
      .flag("--seeds N", seeds, "number of seeds to average over")
      .flag("--json", json, "print one JSON object");
  if (!a.parse(args)) return 0;
  o.dictionary.count_bias = !no_bias;
  return mean_study(needle_memories(), seeds, json, [&](uint64_t seed) { return find_needles(o, seed); });
}

template <Association Task>
int associate(Words args) {
  return run_study(Task, args);
}

constexpr MenuItem kItems[] = {
    {"mqar", "", "multi-query associative recall: which value followed this key?", associate<Association::mqar>},
    {"copy", "", "copying: repeat a sequence of symbols", associate<Association::copy>},
    {"order", "", "keys with four values each: which one followed the second time?", associate<Association::order>},
    {"order-said", "", "the same, with the number of the occurrence given", associate<Association::order_said>},
    {"regress", "", "in-context regression: functions of eight numbers by examples", regression_study},
    {"store", "", "store and query random keys, without training", store_study},
    {"needles", "", "store and query few unique keys among many similar ones, without training", needle_study},
};

}  // namespace

int learn_ovq(Words args) {
  return choose("research ovq", "capacity of sequence memories: attention, OVQ, delta rules, linear attention",
                kItems, args);
}

}  // namespace quern
