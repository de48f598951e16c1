// Converts checkpoints to model folders.
#include "quern/train/trainer/export.h"

#include "quern/base/error.h"
#include "quern/models/checkpoint.h"
#include "quern/models/config_file.h"
#include "quern/models/config_overrides.h"
#include "quern/models/trained_adapter.h"
#include "quern/train/checkpoint/reader.h"

namespace quern::train {
namespace fs = std::filesystem;
namespace {

// Paths of a recipe start at its folder, which is mostly the one the run lies in.
fs::path found(const fs::path& run, const std::string& path) {
  for (const fs::path& base : {run.parent_path(), run, fs::path(".")})
    if (fs::exists(base / path)) return base / path;
  return {};
}

// Of the recipe, or else of the model that it starts from; empty when there is none.
fs::path found_tokenizer(const Json& recipe, const fs::path& run) {
  const Json* named = recipe.find("tokenizer");
  if (named && !named->as_string().empty()) return found(run, named->as_string());
  const std::string from = recipe.at("model", "recipe.json").at("from", "model").as_string();
  const fs::path start = from.empty() ? fs::path() : found(run, from);
  return !start.empty() && fs::exists(start / "tokenizer.json") ? start : fs::path();
}

Json model_config(const nn::Registry& registry, const Json& recipe, const fs::path& run) {
  const Json& model = recipe.at("model", "recipe.json");
  const std::string from = model.at("from", "model").as_string();
  Json config;
  auto change = [&](const Json* more) {
    if (!more || more->is_null()) return;
    config = config.is_null() ? *more : models::override_config(registry, config, *more);
  };
  if (!from.empty()) {
    const fs::path folder = found(run, from);
    if (folder.empty())
      fail("{}: the recipe starts from {}, which does not exist; name a config.json", run.string(), from);
    config = models::read_config_file(folder / "config.json");
  }
  change(model.find("config"));
  for (const Json& phase : recipe.at("phase", "recipe.json").as_array()) change(phase.find("config"));
  return config;
}

ExportReport export_adapter(const CheckpointReader& reader, const models::LoraSettings& settings, const Json& recipe,
                            const fs::path& to, ExportReport report) {
  NamedTensors tensors;
  for (const StoredTensor& t : reader.tensors())
    if (t.role == "weight") {
      tensors.emplace_back(t.name, reader.read(t.name, t.role));
      report.parameters += tensors.back().second.size();
    }
  models::save_peft(to, settings, recipe.at("model", "recipe.json").at("from", "model").as_string(), tensors);
  return report;
}

}  // namespace

fs::path tokenizer_source(const Recipe& recipe) {
  if (!recipe.tokenizer.empty()) {
    const fs::path folder = recipe.tokenizer_folder();
    if (!fs::exists(folder / "tokenizer.json")) fail("tokenizer: no tokenizer.json in {}", folder.string());
    return folder;
  }
  const fs::path start = recipe.base / recipe.model.from;
  return !recipe.model.from.empty() && fs::exists(start / "tokenizer.json") ? start : fs::path();
}

void copy_tokenizer(const fs::path& from, const fs::path& to) {
  for (const char* f : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja",
                        "generation_config.json"})
    if (fs::exists(from / f)) fs::copy_file(from / f, to / f, fs::copy_options::overwrite_existing);
  if (fs::exists(to / "generation_config.json") || !fs::exists(to / "tokenizer.json")) return;
  const text::Tokenizer t = text::Tokenizer::load(to);
  models::GenerationConfig g;
  if (t.eos_id() >= 0) g.eos_token_id = {t.eos_id()};
  if (t.bos_id() >= 0) g.bos_token_id = t.bos_id();
  if (t.pad_id() >= 0) g.pad_token_id = t.pad_id();
  models::save_generation_config(g, to);
}

ExportReport export_checkpoint(const nn::Registry& registry, const fs::path& from, const fs::path& to,
                               const ExportOptions& o) {
  fs::path step = fs::absolute(from).lexically_normal();
  if (step.filename().empty()) step = step.parent_path();
  fs::path run = step.parent_path();
  if (!fs::exists(step / "COMMIT.json")) {
    run = step;
    const auto newest = latest_committed(run);
    if (!newest) fail("{} is not a committed checkpoint and contains none", from.string());
    step = *newest;
  }
  for (const char* file : {"config.json", "adapter_config.json"})
    if (fs::exists(to / file)) fail("{} already holds a model; name another folder", to.string());
  const bool has_recipe = fs::exists(run / "recipe.json");
  if (!has_recipe && o.config.empty()) fail("{} has no recipe.json; name a config.json", run.string());
  const Json recipe = has_recipe ? Json::read(run / "recipe.json") : Json::object();
  const CheckpointReader reader(step);
  ExportReport report{.from = step, .step = reader.step()};
  if (const Json* a = recipe.find("adapter")) {
    models::LoraSettings settings;
    from_json(*a, settings, "recipe.json, adapter", UnknownKeys::ignore);
    if (settings.on()) return export_adapter(reader, settings, recipe, to, report);
  }
  auto model = models::build_model(
      registry, o.config.empty() ? model_config(registry, recipe, run) : models::read_config_file(o.config));
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    const StoredTensor& stored = reader.at(name, "weight");
    if (stored.shape != p.shape)
      fail("{}: {} is {}, the configuration needs {}", step.string(), name, to_string(stored.shape),
           to_string(p.shape));
    p.value = reader.read(name, "weight");
    report.parameters += p.value.size();
  });
  models::save_model(*model, to, o.dtype);
  const fs::path tokenizer = !o.tokenizer.empty() ? o.tokenizer : has_recipe ? found_tokenizer(recipe, run) : "";
  report.tokenizer = !tokenizer.empty();
  if (report.tokenizer) copy_tokenizer(tokenizer, to);
  return report;
}

}  // namespace quern::train
