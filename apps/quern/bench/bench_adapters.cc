// Cost of adapters in a batch: steps of several sequences with an adapter each, or with one for all, in turn with the same
// steps without. The adapters stand beside every matrix and have random numbers.
#include <algorithm>

#include "apps/quern/bench/bench_model.h"
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/whole_numbers.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/random_model.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/host/bench.h"
#include "quern/infer/cache/weight_settings.h"
#include "quern/models/adapter_sites.h"

namespace quern::cli {
namespace {

struct AdaptersBench {
  models::Model& model;
  std::vector<mixers::SequenceState> states;
  std::vector<mixers::SequenceState*> pointers = {};
  Rng random{7};

  double step(const nn::BatchAdapters* chosen) {
    std::vector<int32_t> ids(states.size());
    for (int32_t& id : ids) id = static_cast<int32_t>(random.uniform() * static_cast<double>(model.vocab_size()));
    const Stopwatch watch;
    grad::Tape tape(grad::Tape::inference);
    tape.adapters = chosen;
    const grad::Var hidden =
        model.hidden(tape, ids, mixers::Batch::resume(pointers, std::vector<int64_t>(ids.size(), 1)));
    tape.adapters = nullptr;
    model.logits(tape, hidden);
    return watch.seconds();
  }
};

struct Choice {
  const char* name;
  nn::BatchAdapters rows;
  std::vector<double> seconds = {}, ratios = {};
};

Json measured(AdaptersBench& bench, std::vector<Choice>& choices, int64_t reps, bool json) {
  for (Choice& c : choices) bench.step(&c.rows);  // first touch
  std::vector<double> none;
  for (int64_t i = 0; i < reps; ++i)
    for (Choice& c : choices) {
      const double before = bench.step(nullptr);
      c.seconds.push_back(bench.step(&c.rows));
      none.push_back((before + bench.step(nullptr)) / 2);
      c.ratios.push_back(none.back() / c.seconds.back());
    }
  const auto n = static_cast<double>(bench.states.size());
  Json list = Json::array();
  const auto row = [&](const char* name, double seconds, double ratio) {
    Json r = Json::object();
    r.set("adapters", name), r.set("tokens_per_s", n / seconds), r.set("beside_none", ratio);
    if (!json) fmt::print("{:<24}{:>12.1f}{:>12.2f}\n", name, n / seconds, ratio);
    list.push(std::move(r));
  };
  row("none", host::median(none), 1);
  for (Choice& c : choices) row(c.name, host::median(c.seconds), host::median(c.ratios));
  return list;
}

}  // namespace

int bench_adapters(const ModelBenchOptions& o, int64_t rank) {
  if (o.dir.empty() == o.shape.empty()) throw UsageError("quern bench: expected either DIR or --shape");
  if (rank < 1 || rank > 4096) throw UsageError("quern bench: expected --rank of 1 to 4096");
  const std::vector<int64_t> batches = whole_numbers(o.batches, "--batch", {16}),
                             depths = whole_numbers(o.depths, "--depth", {512});
  models::AdapterSites sites(o.scheme == "f32" ? DType::f32 : DType::bf16);  // as quern serve keeps them
  models::LoadOptions load = options_of(o.scheme);
  load.paths = &sites;
  const auto model = o.dir.empty() ? random_model(o.shape, o.scheme, &sites) : load_for_inference(o.dir, load);
  Json out = Json::object(), all = Json::array();
  for (int64_t batch : batches)
    for (int64_t depth : depths) {
      AdaptersBench bench{*model, {}};
      for (int64_t b = 0; b < batch; ++b)
        bench.states.push_back(state_at(*model, depth, bench_kv(o), static_cast<uint64_t>(b) << 20));
      for (mixers::SequenceState& s : bench.states) s.reserve(depth + 8 * o.reps + 8), bench.pointers.push_back(&s);
      std::vector<nn::ChosenAdapters> chosen;
      for (int64_t b = 0; b < batch; ++b) chosen.push_back({{sites.drawn(rank, static_cast<uint64_t>(b))}});
      std::vector<Choice> choices = {{"one each", {}}, {"one for all", {}}};
      for (const nn::ChosenAdapters& c : chosen) choices[0].rows.add(1, c);
      choices[1].rows.add(batch, chosen[0]);
      if (!o.json)
        fmt::print("{} sequences at {} tokens, rank {}, {:.1f} MB an adapter\n{:<24}{:>12}{:>12}\n", batch, depth,
                   rank, static_cast<double>(chosen[0][0].paths->bytes) / 1e6, "adapters", "tokens/s", "speed");
      Json one = Json::object();
      one.set("batch", batch), one.set("depth", depth), one.set("rank", rank);
      one.set("adapter_bytes", chosen[0][0].paths->bytes);
      one.set("rows", measured(bench, choices, o.reps, o.json));
      all.push(std::move(one));
    }
  out.set("model", o.dir.empty() ? o.shape : o.dir), out.set("batches", std::move(all));
  out.set("resident_bytes", resident_bytes());
  if (o.json) fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace quern::cli
