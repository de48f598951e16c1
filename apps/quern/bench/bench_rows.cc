// Cost and benefit of speculative decoding.
//   rows:    a step of n tokens of one sequence compared with a step of one, in turn, with the rollback points a
//            rejected draft returns to: none, one before the draft, one after each token
//   answers: the engine with drafts compared with the engine without, in turn, on outputs whose every token is
//            prescribed by a constraint: one copies its prompt except every 20th token, the other repeats nothing
#include <algorithm>

#include "apps/quern/bench/bench_model.h"
#include "apps/quern/bench/bench_script.h"
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/whole_numbers.h"
#include "quern/base/rng.h"
#include "quern/base/stopwatch.h"
#include "quern/host/bench.h"
#include "quern/infer/engine/engine.h"
#include "quern/infer/speculation/speculation.h"

namespace quern::cli {
namespace {

struct RowsBench {
  models::Model& model;
  mixers::SequenceState state, spare;  // whose fixed parts are as good as any
  std::vector<mixers::SequenceState> marks;
  Rng rng{7};

  // Seconds of a step of `rows`, of which `kept` marks are taken; the depth stays as it was.
  double step(int64_t rows, int64_t kept) {
    std::vector<int32_t> ids(static_cast<size_t>(rows));
    for (int32_t& id : ids) id = static_cast<int32_t>(rng.uniform() * static_cast<double>(model.vocab_size()));
    const int64_t depth = state.length();
    while (static_cast<int64_t>(marks.size()) < kept) marks.emplace_back(state.sites());
    mixers::Batch batch = mixers::Batch::resume({&state}, {rows});
    for (int64_t i = 0; i < kept; ++i) {
      mixers::SequenceState& mark = marks[static_cast<size_t>(i)];
      mark.advance(depth + 1 + i - mark.length());
      batch.snapshot_points.push_back({0, 1 + i, &mark});
    }
    const Stopwatch watch;
    grad::Tape tape(grad::Tape::inference);
    model.logits(tape, model.hidden(tape, ids, batch));
    const double seconds = watch.seconds();
    spare.advance(depth - spare.length());
    state.rewind(spare);
    return seconds;
  }
};

void bench_answers(models::Model& model, const ModelBenchOptions& o, bool json, Json& out) {
  constexpr int64_t kTokens = 128, kChanged = 20;
  const ScriptTokens prompt = fresh_tokens(kTokens, model.vocab_size(), 1);
  ScriptTokens copy = prompt;
  for (size_t i = kChanged; i < copy.size(); i += kChanged) copy[i] = copy[i] == 0 ? 1 : copy[i] - 1;
  if (!json) fmt::print("{:<20}{:>8}{:>10}{:>10}{:>14}\n", "output", "K", "drafted", "accepted", "speed-up");
  for (const auto& [name, text] : {std::pair<const char*, ScriptTokens>{"copies its prompt", copy},
                                   {"repeats nothing", fresh_tokens(kTokens, model.vocab_size(), 2)}})
    for (int64_t maximum : {int64_t{4}, infer::kDefaultDraftTokens, infer::kMaxDraftTokens}) {
      const auto script = std::make_shared<Scripted>(text, model.vocab_size());
      const auto run = [&](int64_t speculate) {
        infer::Engine engine(
            model,
            {.kv = bench_kv(o), .cache_bytes = 0, .speculate = infer::SpeculationOptions::by_ngram(speculate)});
        infer::Request r{.prompt = prompt};
        r.options.sampling.temperature = 0, r.options.max_tokens = kTokens, r.options.constraint = script;
        return engine.run(std::move(r));
      };
      std::vector<double> ratios;
      infer::Speculated all;
      for (int64_t i = 0; i < std::min<int64_t>(o.reps, 5); ++i) {
        const double plain = run(0).decode_seconds;
        const infer::Generated g = run(maximum);
        all += g.speculated;
        ratios.push_back((plain + run(0).decode_seconds) / 2 / g.decode_seconds);
      }
      Json row = Json::object();
      row.set("answer", name), row.set("most", maximum), row.set("drafted", all.all_drafted());
      row.set("accepted", all.all_accepted()), row.set("speed_up", host::median(ratios));
      if (!json)
        fmt::print("{:<20}{:>8}{:>10}{:>10}{:>14.2f}\n", name, maximum, all.all_drafted(), all.all_accepted(),
                   host::median(ratios));
      out.push(std::move(row));
    }
}

}  // namespace

int bench_rows(const ModelBenchOptions& o) {
  const bool json = o.json;
  const std::vector<int64_t> depths = whole_numbers(o.depths, "--depth", {512, 8192}),
                             counts = whole_numbers(o.batches, "--batch", {2, 3, 5, 9}, infer::kMaxDraftTokens + 1);
  const DType kv = bench_kv(o);
  const std::unique_ptr<models::Model> model = bench_subject(o);
  const bool fixed = infer::rollback_point_count(model->sites(kv), 1) > 0;
  Json out = Json::array(), answers = Json::array();
  if (!json)
    fmt::print("{:>8}{:>6}{:>10}{:>14}{:>18}\n", "context", "batch", "snapshots", "of one token", "cost per token");
  for (int64_t depth : depths) {
    RowsBench bench{*model, state_at(*model, depth, kv, 1), mixers::SequenceState(model->sites(kv)), {}};
    bench.state.reserve(depth + infer::kMaxDraftTokens + 1);
    bench.step(1, 0), bench.step(counts.back(), fixed ? counts.back() - 1 : 0);  // first touch
    for (int64_t rows : counts) {
      std::vector<int64_t> kept = {0};
      if (fixed && rows > 1) kept.push_back(1);
      if (fixed && rows > 2) kept.push_back(rows - 1);
      std::vector<std::vector<double>> ratios(kept.size());
      for (int64_t i = 0; i < o.reps; ++i)
        for (size_t k = 0; k < kept.size(); ++k) {
          const double one = bench.step(1, 0), many = bench.step(rows, kept[k]);
          ratios[k].push_back(many / ((one + bench.step(1, 0)) / 2));
        }
      for (size_t k = 0; k < kept.size(); ++k) {
        const double ratio = host::median(ratios[k]),
                     price = rows > 1 ? (ratio - 1) / static_cast<double>(rows - 1) : 0;
        Json row = Json::object();
        row.set("depth", depth), row.set("rows", rows), row.set("marks", kept[k]);
        row.set("step_ratio", ratio), row.set("price_of_a_row", price);
        if (!json) fmt::print("{:>8}{:>6}{:>10}{:>14.2f}{:>18.3f}\n", depth, rows, kept[k], ratio, price);
        out.push(std::move(row));
      }
    }
  }
  bench_answers(*model, o, json, answers);
  if (json) {
    Json both = Json::object();
    both.set("rows", std::move(out)), both.set("answers", std::move(answers));
    fmt::print("{}\n", both.dump(2));
  }
  return 0;
}

}  // namespace quern::cli
