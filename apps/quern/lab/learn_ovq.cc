// A small model learns to remember a few things and is asked about many: softmax attention, OVQ attention with any
// size of its dictionary, a learnt codebook, the delta rules and linear attention.
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

// What the studies of learnt memories have in common.
struct StudyFlags {
  std::vector<std::string> test_rows, train, test, fields;
  int64_t seed = 0;
  bool no_bias = false, drawn = false, json = false;

  void declare(Args& a, MemoryOfStudy& m, Lessons& l, int64_t& blocks, int64_t& sequences) {
    a.flag("--memory", m.kind, "softmax, ovq, vq, delta, gated-delta or linear")
        .flag("--rows", m.rows, "rows of the dictionary, codes of the codebook")
        .flag("--test-rows", test_rows, "ovq: asked with so many rows too; may be given again and again")
        .flag("--growth", m.growth, "ovq: plateau, greedy or linear")
        .flag("--chunk", m.chunk, "ovq, vq: tokens between two writes")
        .flag("--no-count-bias", no_bias, "ovq: counts are for the means alone")
        .flag("--random-rows", drawn, "ovq: tokens drawn at random open rows")
        .flag("--set", fields, "FIELD=JSON of the memory's mixer, in place of what its kind says; again and again")
        .flag("--blocks", blocks, "how often attention with a window and the memory follow each other")
        .flag("--train", train, "what to learn with; given again and again, the easiest first")
        .flag("--test", test, "what to be asked; may be given again and again")
        .flag("--steps", l.steps, "steps of AdamW")
        .flag("--rate", l.rate, "learning rate")
        .flag("--sequences", sequences, "sequences asked of each kind")
        .flag("--seed", seed, "of the start and of the sequences learnt from")
        .flag("--json", json, "one JSON object");
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
  Args a("learn ovq " + name, "learns to remember a few things, is asked about many");
  f.declare(a, o.memory, o.lessons, o.blocks, o.test_sequences);
  if (!a.parse(args)) return 0;
  f.apply(o.memory, o.lessons, o.blocks, o.test_sequences);
  o.test_rows = whole_numbers(f.test_rows, "--test-rows", {}, 1 << 20);
  o.train = whole_numbers(f.train, "--train", o.train, kAssociationKeys);
  o.test = whole_numbers(f.test, "--test", o.test, kAssociationKeys);
  o.seed = static_cast<uint64_t>(f.seed);
  Progress progress;
  const AssociationOutcome out = study_association(everything(), o, [&](int64_t step, double loss) {
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
  Args a("learn ovq regress", "learns to regress in the context, is asked about more functions at once");
  f.declare(a, o.memory, o.lessons, o.blocks, o.test_sequences);
  if (!a.parse(args)) return 0;
  f.apply(o.memory, o.lessons, o.blocks, o.test_sequences);
  o.test_rows = whole_numbers(f.test_rows, "--test-rows", {}, 1 << 20);
  o.train = whole_numbers(f.train, "--train", o.train, kRegressionTags);
  o.test = whole_numbers(f.test, "--test", o.test, kRegressionTags);
  o.seed = static_cast<uint64_t>(f.seed);
  Progress progress;
  const RegressionOutcome out = study_regression(everything(), o, [&](int64_t step, double loss) {
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
    fmt::print("{}: {:.0f} s, last loss {:.3f}; mean square error by functions, second half of the examples\n",
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
  Args a("learn ovq store", "random keys with a class each are written, then asked for with noise");
  a.flag("--items", o.items, "keys")
      .flag("--repeats", o.repeats, "how often each is written, with fresh noise if more than once")
      .flag("--rows", o.dictionary.rows, "rows of the dictionaries, codes of the codebook")
      .flag("--chunk", o.dictionary.chunk, "tokens between two writes")
      .flag("--noise", o.noise, "length of the noise beside a key of 1")
      .flag("--seeds", seeds, "draws the mean is taken over")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  return mean_study(store_memories(), seeds, json, [&](uint64_t seed) { return store_and_ask(o, seed); });
}

int needle_study(Words args) {
  NeedleOptions o;
  int64_t seeds = 3;
  bool no_bias = false, json = false;
  Args a("learn ovq needles", "keys of their own among noisy copies of few prototypes are asked for with noise");
  a.flag("--keys", o.tokens, "keys written, needles and filler")
      .flag("--needles", o.needles, "keys of their own")
      .flag("--prototypes", o.prototypes, "what filler is copied from, the i-th with a weight of 1/i")
      .flag("--front", o.front, "needles are written first")
      .flag("--rows", o.dictionary.rows, "rows of the dictionaries, codes of the codebook, keys of the window")
      .flag("--chunk", o.dictionary.chunk, "tokens between two writes")
      .flag("--no-count-bias", no_bias, "counts are for the means alone")
      .flag("--noise", o.noise, "length of the noise beside a key of 1")
      .flag("--seeds", seeds, "draws the mean is taken over")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  o.dictionary.count_bias = !no_bias;
  return mean_study(needle_memories(), seeds, json, [&](uint64_t seed) { return find_needles(o, seed); });
}

template <Association Task>
int associate(Words args) {
  return run_study(Task, args);
}

constexpr MenuItem kItems[] = {
    {"mqar", "", "pairs of keys and values; which value followed this key?", associate<Association::mqar>},
    {"copy", "", "symbols, then the same again; what comes next?", associate<Association::copy>},
    {"order", "", "keys with four values each; which followed it the second time?", associate<Association::order>},
    {"order-said", "", "the same, the time said beside the key", associate<Association::order_said>},
    {"regress", "", "functions of eight numbers, each by its own examples", regression_study},
    {"store", "", "random keys written and asked for, nothing learnt", store_study},
    {"needles", "", "the same for few keys of their own among many that are alike", needle_study},
};

}  // namespace

int learn_ovq(Words args) { return choose("learn ovq", "how much memories of different kinds hold", kItems, args); }

}  // namespace quern
