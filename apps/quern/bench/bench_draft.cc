// quern bench draft: the speedup of a draft model as a function of its acceptance rate. Outputs have prescribed
// tokens; a model that does all the work of drafting returns prescribed drafts, compared in turn with the same outputs
// without drafts. The engine serves one request first, to learn the costs of tokens and drafts.
#include <algorithm>
#include <cstdio>

#include "apps/quern/bench/bench_model.h"
#include "apps/quern/bench/bench_script.h"
#include "apps/quern/cli/args.h"
#include "quern/host/bench.h"
#include "quern/infer/engine/engine.h"
#include "quern/models/model_wrapper.h"

namespace quern::cli {
namespace {

constexpr int64_t kPromptTokens = 64, kAnswerTokens = 96;

// Sure of the script, but of one token in so many, by chance, which it gets wrong. One sequence at a time.
class PrompterDraft final : public models::ModelWrapper {
 public:
  PrompterDraft(models::Model& inner, const ScriptTokens& script, int64_t wrong_of)
      : models::ModelWrapper(inner), script_(script), wrong_of_(wrong_of) {}
  grad::Var hidden(grad::Tape& tape, std::span<const int32_t> ids, const mixers::Batch& batch) override {
    last_ = batch.positions.back();
    return inner_.hidden(tape, ids, batch);
  }
  grad::Var logits(grad::Tape& tape, const grad::Var& h) override {
    Tensor x = inner_.logits(tape, h).value.to(DType::f32).clone();
    const int64_t at = std::clamp<int64_t>(last_ + 1 - kPromptTokens, 0, kAnswerTokens - 1);
    const int64_t right = script_[static_cast<size_t>(at)], wrong = right == 0 ? 1 : right - 1;
    x.fill(-50);
    const bool errs = Rng(3, static_cast<uint64_t>(at)).uniform() * static_cast<double>(wrong_of_) < 1;
    x.span<float>()[static_cast<size_t>(errs ? wrong : right)] = 50;
    return grad::Var(x);
  }

 private:
  const ScriptTokens& script_;
  int64_t wrong_of_, last_ = 0;
};

}  // namespace

int bench_draft(const ModelBenchOptions& o, const std::string& draft) {
  const bool json = o.json;
  if (draft.empty()) throw UsageError("quern bench draft: --draft is missing: expected a model folder, q8 or q4");
  const DType kv = bench_kv(o);
  const std::unique_ptr<models::Model> model = bench_subject(o), small = bench_draft_model(o, draft);
  const int64_t both = std::min(model->vocab_size(), small->vocab_size());  // heads may be padded differently
  const ScriptTokens prompt = fresh_tokens(kPromptTokens, both, 1), answer = fresh_tokens(kAnswerTokens, both, 2);
  const auto script = std::make_shared<Scripted>(answer, model->vocab_size());
  Json rows = Json::array();
  if (!json) fmt::print("{:>14}{:>6}{:>10}{:>10}{:>14}\n", "draft right", "K", "drafted", "accepted", "speed-up");
  for (const int64_t wrong_of : {20, 5})
    for (const int64_t maximum : {4, 8}) {
      PrompterDraft prompter(*small, answer, wrong_of);
      infer::Engine engine(*model, {.kv = kv, .cache_bytes = 0, .draft = &prompter});
      const auto run = [&](bool guessed) {
        infer::Request r{.prompt = prompt};
        r.options.sampling.temperature = 0, r.options.max_tokens = kAnswerTokens, r.options.constraint = script;
        if (guessed) r.options.speculate = infer::SpeculationOptions::by_draft(maximum);
        return engine.run(std::move(r));
      };
      run(true);
      std::vector<double> ratios;
      infer::Speculated all;
      for (int64_t i = 0; i < std::min<int64_t>(o.reps, 5); ++i) {
        const double plain = run(false).decode_seconds;
        const infer::Generated g = run(true);
        all += g.speculated;
        ratios.push_back((plain + run(false).decode_seconds) / 2 / g.decode_seconds);
      }
      Json row = Json::object();
      row.set("wrong_of", wrong_of), row.set("most", maximum), row.set("drafted", all.all_drafted());
      row.set("accepted", all.all_accepted()), row.set("speed_up", host::median(ratios));
      if (!json)
        fmt::print("{:>8} of {:<2}{:>6}{:>10}{:>10}{:>14.2f}\n", wrong_of - 1, wrong_of, maximum, all.all_drafted(),
                   all.all_accepted(), host::median(ratios));
      std::fflush(stdout);
      rows.push(std::move(row));
    }
  if (json) fmt::print("{}\n", rows.dump(2));
  return 0;
}

}  // namespace quern::cli
