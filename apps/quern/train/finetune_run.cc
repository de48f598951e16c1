#include "apps/quern/train/finetune_run.h"

#include <limits>

#include "apps/quern/cli/interrupt.h"
#include "apps/quern/train/step_line.h"
#include "quern/base/mmap.h"
#include "quern/comm/in_process.h"
#include "quern/infer/engine/engine.h"
#include "quern/models/checkpoint.h"
#include "quern/nn/builtin_registry.h"
#include "quern/text/chat/chat_prompt.h"
#include "quern/train/preference/preference_source.h"
#include "quern/train/report/report.h"

namespace quern::cli {
namespace {

constexpr int64_t kAnswerTokens = 128;
constexpr size_t kShownBytes = 200;

std::string one_line(std::string s) {
  for (char& c : s)
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  if (s.size() <= kShownBytes) return s;
  size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(s[end]) & 0xC0) == 0x80) --end;  // not inside a character
  return s.substr(0, end) + " …";
}

// Answers held-out questions greedily with the model as it is now.
class SampleAnswers {
 public:
  SampleAnswers(const FinetuneJob& job, models::Model& model) : rows_(job.questions), model_(model) {
    if (rows_.empty()) return;
    const std::filesystem::path folder = job.recipe.model.from;
    tokenizer_.emplace(models::load_tokenizer(folder));
    template_.emplace(models::load_chat_template(folder, model.family()));
    options_.max_tokens = kAnswerTokens, options_.sampling.temperature = 0;
    options_.stop_ids = models::load_generation_config(folder).eos_token_id;
  }

  void show() const {
    for (const train::FinetuneRow& row : rows_) {
      Json asked = row.messages;
      const std::string wanted = asked.items().back().at("content").as_string();
      asked.items().pop_back();
      infer::Engine engine(model_, {.max_sequences = 1, .cache_bytes = 0, .tokenizer = &*tokenizer_});
      const infer::Generated got = engine.run(
          {.prompt = text::chat_prompt(*template_, *tokenizer_, asked).encode(*tokenizer_), .options = options_});
      fmt::print(stderr, "  question  {}\n  wanted    {}\n  answer    {}\n",
                 one_line(asked.items().back().at("content").as_string()), one_line(wanted), one_line(got.text));
    }
  }

 private:
  const std::vector<train::FinetuneRow>& rows_;
  models::Model& model_;
  std::optional<text::Tokenizer> tokenizer_;
  std::optional<text::ChatTemplate> template_;
  infer::GenerateOptions options_;
};

// Keeps the best held-out loss, and says when there is no use in going on.
struct BestLoss {
  double before = std::numeric_limits<double>::quiet_NaN(), best = std::numeric_limits<double>::infinity();
  std::optional<double> accuracy = {}, margin = {};
  int64_t step = 0, worse = 0;

  bool take(const train::EvalMetrics& e) {  // true: the best so far
    if (e.step == 0) before = e.eval_loss;
    if (e.step == 0) return false;
    if (!(e.eval_loss < best)) return ++worse, false;
    best = e.eval_loss, step = e.step, worse = 0;
    accuracy = e.eval_accuracy, margin = e.eval_margin;
    return true;
  }
};

std::string told(const train::EvalMetrics& e) {
  return fmt::format("held-out loss {:.4f}", e.eval_loss) +
         (e.eval_accuracy
              ? fmt::format(", accuracy {:.3f}, margin {:.3f}", *e.eval_accuracy, e.eval_margin.value_or(0))
              : "");
}

void train(const FinetuneJob& job, comm::Communicator& comm, FinetuneResult& result) {
  StepLine line;
  auto say = [&](const std::string& s) {
    line.end();
    fmt::print(stderr, "{}\n", s);
  };
  const std::filesystem::path run = job.out / "run";
  train::Trainer t(job.recipe, nn::builtin_registry(), comm,
                   train::with_preferences({.out = run, .resume = job.resume, .say = say}));
  fmt::print(stderr, "{}", t.describe());
  const SampleAnswers samples(job, t.model());
  BestLoss loss;
  if (t.finished() > 0) {
    for (const train::EvalMetrics& e : train::read_metrics(run / "metrics.jsonl").evals) loss.take(e);
  } else {
    t.evaluate();
    loss.take(t.evaluations()[0]);
    say("before: " + told(t.evaluations()[0]));
    samples.show();
  }
  auto done = [&](bool finished) {
    result = {.before = loss.before,
              .best = loss.best,
              .accuracy = loss.accuracy,
              .margin = loss.margin,
              .best_step = loss.step,
              .steps = t.finished(),
              .parameters = t.parameters(),
              .finished = finished};
  };
  Interrupt interrupt;
  while (t.step()) {
    line.show(t);
    if (!t.evaluations().empty() && t.evaluations()[0].step == t.finished()) {
      const bool best = loss.take(t.evaluations()[0]);
      if (best) t.export_model(job.out, DType::f32);
      say(fmt::format("step {}: {}{}", t.finished(), told(t.evaluations()[0]),
                      best ? "" : fmt::format(" (best {:.4f} at step {})", loss.best, loss.step)));
      samples.show();
      if (job.patience > 0 && loss.worse >= job.patience) {
        t.checkpoint();
        say(fmt::format("stopped early: no better than step {} in {} evaluations", loss.step, loss.worse));
        break;
      }
    }
    if (interrupt.raised() && t.finished() < t.steps()) {
      t.checkpoint();
      say(fmt::format("stopped after step {}; resume with --resume", t.finished()));
      return done(false);
    }
  }
  line.end();
  done(true);
}

}  // namespace

FinetuneResult run_finetune(const FinetuneJob& job) {
  FinetuneResult result;
  comm::run_ranks(1, [&](comm::Communicator& comm) { train(job, comm, result); });
  const std::string run = (job.out / "run").string();
  write_file(job.out / "report.html", train::report::html(train::report::read_runs(std::span(&run, 1))));
  return result;
}

}  // namespace quern::cli
