// A small model learns to remember a few things and is asked about many: softmax attention, OVQ attention with any
// size of its dictionary, a learnt codebook, the delta rules and linear attention.
#include "apps/quern/learn_ovq.h"

#include "apps/quern/args.h"
#include "apps/quern/context.h"
#include "apps/quern/progress.h"
#include "quern/base/json.h"
#include "quern/learn/ovq/association_study.h"
#include "quern/learn/ovq/store.h"
#include "quern/mixers/ovq/ovq.h"

namespace quern {
namespace {

constexpr const char* kHelp =
    "quern learn ovq — how much memories of different kinds hold\n\nusage: quern learn ovq mqar|copy|store …\n\n"
    "  quern learn ovq mqar   pairs of keys and values; which value followed this key?\n"
    "  quern learn ovq copy   symbols, then the same again; what comes next?\n"
    "  quern learn ovq store  random keys written and asked for, nothing learnt\n\n"
    "quern learn ovq STUDY --help tells more.\n";

std::vector<int64_t> whole_numbers(const std::vector<std::string>& words, const char* flag, int64_t most,
                                   std::vector<int64_t> otherwise) {
  if (words.empty()) return otherwise;
  std::vector<int64_t> out;
  for (const std::string& w : words) {
    size_t used = 0;
    int64_t n = 0;
    try {
      n = std::stoll(w, &used);
    } catch (const std::logic_error&) {
    }
    if (w.empty() || used != w.size() || n < 1 || n > most)
      throw UsageError(fmt::format("{} '{}': expected a whole number from 1 to {}", flag, w, most));
    out.push_back(n);
  }
  return out;
}

Json to_json(const AssociationOptions& o, const AssociationOutcome& out) {
  Json j = Json::object(), by_rows = Json::object();
  j.set("memory", o.memory), j.set("rows", o.rows), j.set("growth", o.growth), j.set("steps", o.steps);
  j.set("seed", static_cast<int64_t>(o.seed)), j.set("state_floats", out.state_floats);
  j.set("parameters", out.parameters), j.set("loss", out.loss), j.set("seconds", out.seconds);
  for (const AssociationOutcome::Row& r : out.accuracy) {
    Json by_n = Json::object();
    for (size_t i = 0; i < o.test.size(); ++i) by_n.set(std::to_string(o.test[i]), r.accuracy[i]);
    by_rows.set(std::to_string(r.rows), by_n);
  }
  j.set("accuracy", by_rows);  // by rows of the dictionary asked, then by things to remember
  return j;
}

int run_study(Association task, const std::string& name, Words args) {
  AssociationOptions o;
  o.task = task;
  if (task == Association::copy) o.train = {8, 16, 32, 64}, o.test = {16, 32, 64, 128, 256}, o.steps = 1200;
  std::vector<std::string> test_rows, train, test;
  int64_t seed = 0;
  bool no_bias = false, drawn = false, json = false;
  Args a("learn ovq " + name, "learns to remember a few things, is asked about many");
  a.flag("--memory", o.memory, "softmax, ovq, vq, delta, gated-delta or linear")
      .flag("--rows", o.rows, "rows of the dictionary, codes of the codebook")
      .flag("--test-rows", test_rows, "ovq: asked with so many rows too; may be given again and again")
      .flag("--growth", o.growth, "ovq: plateau, greedy or linear")
      .flag("--chunk", o.chunk, "ovq, vq: tokens between two writes")
      .flag("--no-count-bias", no_bias, "ovq: counts are for the means alone")
      .flag("--random-rows", drawn, "ovq: tokens drawn at random open rows")
      .flag("--train", train, "things to remember while learning; given again and again, the easiest first")
      .flag("--test", test, "things to remember when asked; may be given again and again")
      .flag("--steps", o.steps, "steps of AdamW")
      .flag("--rate", o.rate, "learning rate")
      .flag("--sequences", o.test_sequences, "sequences asked of each length")
      .flag("--seed", seed, "of the start and of the sequences learnt from")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  o.test_rows = whole_numbers(test_rows, "--test-rows", 1 << 20, {});
  o.train = whole_numbers(train, "--train", kAssociationKeys, o.train);
  o.test = whole_numbers(test, "--test", kAssociationKeys, o.test);
  if (o.steps < 0) throw UsageError(fmt::format("--steps {}: expected 0 or more", o.steps));
  if (o.test_sequences < 1) throw UsageError(fmt::format("--sequences {}: expected at least 1", o.test_sequences));
  o.count_bias = !no_bias, o.spread = !drawn, o.seed = static_cast<uint64_t>(seed);
  Progress progress;
  const AssociationOutcome out = study_association(
      registry(), o, [&](int64_t step, double loss) { progress("step {} of {}, loss {:.3f}", step, o.steps, loss); });
  if (json) {
    fmt::print("{}\n", to_json(o, out).dump());
    return 0;
  }
  fmt::print("{} {}: {} parameters, {} floats of state, {:.0f} s, last loss {:.3f}\n", name, o.memory, out.parameters,
             out.state_floats, out.seconds, out.loss);
  for (const AssociationOutcome::Row& r : out.accuracy) {
    fmt::print("rows {:<6}", r.rows);
    for (size_t i = 0; i < o.test.size(); ++i) fmt::print("  {}: {:.3f}", o.test[i], r.accuracy[i]);
    fmt::print("\n");
  }
  return 0;
}

int store_study(Words args) {
  StoreOptions o;
  int64_t seeds = 3;
  bool json = false;
  Args a("learn ovq store", "random keys with a class each are written, then asked for with noise");
  a.flag("--items", o.items, "keys")
      .flag("--repeats", o.repeats, "how often each is written, with fresh noise if more than once")
      .flag("--rows", o.rows, "rows of the dictionaries, codes of the codebook")
      .flag("--chunk", o.chunk, "tokens between two writes")
      .flag("--noise", o.noise, "length of the noise beside a key of 1")
      .flag("--seeds", seeds, "draws the mean is taken over")
      .flag("--json", json, "one JSON object");
  if (!a.parse(args)) return 0;
  if (seeds < 1) throw UsageError(fmt::format("--seeds {}: expected at least 1", seeds));
  std::vector<double> mean(store_memories().size(), 0.0);
  Progress progress;
  for (int64_t s = 0; s < seeds; ++s) {
    progress("draw {} of {}", s + 1, seeds);
    const std::vector<double> right = store_and_ask(o, static_cast<uint64_t>(s));
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += right[i] / static_cast<double>(seeds);
  }
  Json j = Json::object();
  for (size_t i = 0; i < mean.size(); ++i) {
    j.set(store_memories()[i], mean[i]);
    if (!json) fmt::print("{:<16} {:.3f}\n", store_memories()[i], mean[i]);
  }
  if (json) fmt::print("{}\n", j.dump());
  return 0;
}

}  // namespace

int learn_ovq(Words args) {
  const std::string study = args.empty() ? "--help" : args[0];
  if (study == "mqar" || study == "copy") return run_study(association(study), study, args.subspan(1));
  if (study == "store") return store_study(args.subspan(1));
  if (study != "--help" && study != "-h")
    throw UsageError(fmt::format("quern learn ovq: '{}', expected mqar, copy or store", study));
  fmt::print("{}", kHelp);
  return args.empty() ? 2 : 0;
}

}  // namespace quern
