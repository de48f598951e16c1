#include "quern/gguf/export/export_gguf.h"

#include "quern/base/error.h"
#include "quern/gguf/export/gguf_families.h"
#include "quern/gguf/export/gguf_vocabulary.h"
#include "quern/models/checkpoint.h"

namespace quern::gguf {
namespace {

namespace fs = std::filesystem;

// As general.file_type numbers what most matrices are.
uint32_t file_type(GgufType t) {
  return t == GgufType::f32 ? 0 : t == GgufType::f16 ? 1 : t == GgufType::q8_0 ? 7 : 32;
}

}  // namespace

GgufExportReport export_gguf(const nn::Registry& registry, const fs::path& from, const fs::path& to,
                             GgufType matrices) {
  if (fs::exists(to)) fail("{} already exists: name a new file", to.string());
  const auto [config, weights] = models::open_checkpoint(from, DType::f32);
  if (const Json* q = config.find("quantization_config"); q && !q->is_null())
    fail("{} is quantized: export the original folder", from.string());
  const auto model = models::build_model(registry, config, &weights);
  const Json whole = model->config();
  const std::string type = whole.at("model_type").as_string();
  GgufExportReport report;
  std::optional<GgufSheet> sheet;
  auto begin = [&](const auto& c, auto put) {
    sheet.emplace(*model, weights, gguf_arch(c), matrices);
    sheet->set("general.name", from.stem().string());
    sheet->set("general.file_type", file_type(matrices));
    sheet->set("general.quantization_version", uint32_t{2});
    put(*sheet, c, report.notes);
  };
  if (type == "llama" || type == "mistral" || type == "qwen2" || type == "qwen3")
    begin(models::LlamaConfig::from_hf(whole), put_llama);
  else if (type == "granitemoehybrid" || type == "bamba")
    begin(models::GraniteConfig::from_hf(whole), put_granite);
  else if (type == "falcon_h1")
    begin(models::FalconH1Config::from_hf(whole), put_falcon_h1);
  else if (type == "nemotron_h")
    begin(models::NemotronHConfig::from_hf(whole), put_nemotron_h);
  else
    fail(
        "{}: models of the family '{}' have no place in a GGUF file, expected llama, mistral, qwen2, qwen3, "
        "granitemoehybrid, bamba, falcon_h1 or nemotron_h",
        from.string(), type);
  put_vocabulary(*sheet, from, whole, model->vocab_size(), report.notes);
  fs::path draft = to;
  draft += ".part";
  try {
    sheet->finished().write(draft);
    fs::rename(draft, to);
  } catch (...) {
    std::error_code ignored;
    fs::remove(draft, ignored);
    throw;
  }
  for (const std::string& name : weights.unread())
    if (!model->ignorable(name)) report.notes.push_back(fmt::format("tensor '{}' is not used and stays out", name));
  report.parameters = nn::parameter_count(*model);
  return report;
}

}  // namespace quern::gguf
