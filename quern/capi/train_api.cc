// Tokenizer, training and corpus functions of quern.h.
#include "quern/base/config.h"
#include "quern/base/version.h"
#include "quern/capi/handles.h"
#include "quern/capi/json_options.h"
#include "quern/comm/in_process.h"
#include "quern/corpus/stages/corpus_build.h"
#include "quern/nn/builtin_registry.h"
#include "quern/rl/rollout_source.h"
#include "quern/train/distill/distill_source.h"
#include "quern/train/preference/preference_source.h"
#include "quern/train/recipe/run_settings.h"
#include "quern/train/trainer/trainer.h"

struct quern_tokenizer {
  quern::text::Tokenizer tokenizer;
};

struct quern_trainer {
  std::unique_ptr<quern::comm::Communicator> rank;
  quern::train::Trainer trainer;
};

namespace quern::capi {
namespace {

struct TrainerSettings {
  train::RunSettings run = {};
  std::string models = {};
  bool rl = false;
  template <class V>
  void visit(V& v) {
    run.visit(v);
    v("models", models, "folder in which the recipe's model is looked for where its path is none");
    v("rl", rl, "refuse a recipe that has no phase of reinforcement learning");
  }
};

quern_trainer* start_training(const std::filesystem::path& recipe, const TrainerSettings& given) {
  const train::RunSettings& run = given.run;
  if (run.out.empty()) fail("options, out: missing: expected the folder of the run");
  train::Recipe r = train::read_recipe(recipe, run.set);
  if (!given.models.empty() && !r.model.from.empty() && !std::filesystem::exists(r.base / r.model.from)) {
    const auto shipped = std::filesystem::absolute(given.models) / r.model.from;
    if (std::filesystem::exists(shipped)) r.model.from = shipped.string();
  }
  if (given.rl && std::ranges::none_of(r.phase, [](const auto& p) { return p.rl.on(); }))
    fail("{}: no phase names rl.environments or rl.tasks: it is a recipe of training without rewards",
         recipe.string());
  auto rank = comm::single_rank();
  comm::Communicator& alone = *rank;
  const nn::Registry& registry = nn::builtin_registry();
  train::TrainOptions options = rl::with_rollouts({.out = run.out, .resume = run.resume}, r, registry);
  options = train::with_distillation(train::with_preferences(std::move(options)), registry);
  return new quern_trainer{std::move(rank), train::Trainer(r, registry, alone, std::move(options))};
}

// The number of a step's record by its name, NaN where the step has none; every number is asked for by visit().
struct MetricFinder {
  std::string_view name;
  double value = 0;
  bool found = false;
  std::vector<std::string> names = {};
  template <class T>
  void operator()(const char* key, T& field, const char* = "", const Setting& = {}) {
    constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::optional<double>>) {
      names.push_back(key);
      if (name != key) return;
      found = true;
      if constexpr (std::is_arithmetic_v<T>)
        value = static_cast<double>(field);
      else
        value = field.value_or(kUnknown);
    }
  }
};

double metric(train::StepMetrics m, std::string_view name) {
  MetricFinder f{.name = name};
  m.visit(f);
  if (!f.found) fail("unknown metric '{}'{}", name, did_you_mean(std::string(name), f.names));
  return f.value;
}

int64_t build_corpus(const std::filesystem::path& recipe, const corpus::BuildTarget& to,
                     const std::function<void(const char*, uint64_t, uint64_t)>& progress) {
  if (to.out.empty()) fail("options, out: missing: expected a folder");
  corpus::CorpusPlan plan = corpus::plan_corpus(corpus::CorpusRecipe::load(recipe), to);
  Json tool = Json::object();
  tool.set("name", "libquern"), tool.set("version", version());
  const auto alone = comm::single_rank();
  const corpus::DedupOutcome done = corpus::dedup_corpus(
      plan, *alone, tool, [&](const corpus::DedupProgress& p) { progress(p.stage, p.bytes, p.total_bytes); });
  if (plan.later) corpus::run_later_stages(plan.recipe, *plan.later, to.out, progress);
  return done.manifest.at("kept").as_int("kept");
}

}  // namespace
}  // namespace quern::capi

using namespace quern::capi;

extern "C" {

quern_tokenizer* quern_tokenizer_load(const char* path) {
  return guarded(static_cast<quern_tokenizer*>(nullptr),
                 [&] { return new quern_tokenizer{quern::text::Tokenizer::load(required(path, "path"))}; });
}
void quern_tokenizer_free(quern_tokenizer* tokenizer) { delete tokenizer; }
int64_t quern_tokenizer_vocab_size(const quern_tokenizer* t) {
  return guarded(int64_t{-1}, [&] { return int64_t{required(t, "tokenizer").tokenizer.vocab_size()}; });
}
int64_t quern_tokenizer_encode(const quern_tokenizer* t, const char* text, int add_special, int32_t* ids,
                               int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const auto all =
        required(t, "tokenizer").tokenizer.encode(required(text, "text"), {.add_special_tokens = add_special != 0});
    return copy_out<int32_t>(all, ids, capacity, "ids");
  });
}
int64_t quern_tokenizer_decode(const quern_tokenizer* t, const int32_t* ids, int64_t n, char* text,
                               int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    return copy_out(
        required(t, "tokenizer").tokenizer.decode(required(ids, n, "ids"), quern::text::SpecialTokens::skip), text,
        capacity, "text");
  });
}

quern_trainer* quern_trainer_new(const char* recipe, const char* options_json) {
  return guarded(static_cast<quern_trainer*>(nullptr), [&] {
    return start_training(required(recipe, "recipe"), read_options<TrainerSettings>(options_json));
  });
}
void quern_trainer_free(quern_trainer* trainer) { delete trainer; }
int64_t quern_trainer_steps(const quern_trainer* t) {
  return guarded(int64_t{-1}, [&] { return required(t, "trainer").trainer.steps(); });
}
int64_t quern_trainer_finished(const quern_trainer* t) {
  return guarded(int64_t{-1}, [&] { return required(t, "trainer").trainer.finished(); });
}
int quern_trainer_step(quern_trainer* t) {
  return guarded(-1, [&] { return required(t, "trainer").trainer.step() ? 1 : 0; });
}
int quern_trainer_metric(const quern_trainer* t, const char* name, double* value) {
  return guarded(-1, [&] {
    required(value, "value") = metric(required(t, "trainer").trainer.last(), required(name, "name"));
    return 0;
  });
}
int quern_trainer_checkpoint(quern_trainer* t) {
  return guarded(-1, [&] {
    required(t, "trainer").trainer.checkpoint();
    return 0;
  });
}
int quern_trainer_export(quern_trainer* t, const char* folder, const char* dtype) {
  return guarded(-1, [&] {
    const quern::DType type = quern::parse_dtype(required(dtype, "dtype"));
    if (type != quern::DType::f32 && type != quern::DType::bf16)
      quern::fail("dtype '{}': expected bf16 or f32", dtype);
    required(t, "trainer").trainer.export_model(required(folder, "folder"), type);
    return 0;
  });
}

int64_t quern_corpus_build(const char* recipe, const char* options_json, quern_on_progress on_progress, void* user) {
  return guarded(int64_t{-1}, [&] {
    return build_corpus(required(recipe, "recipe"), read_options<quern::corpus::BuildTarget>(options_json),
                        [&](const char* stage, uint64_t done, uint64_t total) {
                          if (!on_progress) return;
                          on_progress(stage, total ? static_cast<double>(done) / static_cast<double>(total) : 1,
                                      user);
                        });
  });
}

}  // extern "C"
