// quern export: converts a training checkpoint, or a model in other files, to a Hugging Face folder of safetensors.
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "quern/encoders/encoder.h"
#include "quern/gguf/export/export_gguf.h"
#include "quern/models/model_folder.h"
#include "quern/nn/builtin_registry.h"
#include "quern/train/trainer/export.h"

namespace quern::cli {
namespace {

namespace fs = std::filesystem;

bool is_model(const fs::path& from) {
  if (fs::is_regular_file(from)) return true;
  return fs::exists(from / "config.json") && !fs::exists(from / "recipe.json") && !fs::exists(from / "COMMIT.json");
}

int convert_model(const fs::path& from, const fs::path& to, DType dtype) {
  models::check_new_folder(to);
  models::LoadReport report;
  const auto model = models::load_model(nn::builtin_registry(), from, {.pack = false}, &report);
  for (const std::string& n : report.notes) fmt::print(stderr, "warning: {}\n", n);
  for (const std::string& n : report.unused) fmt::print(stderr, "warning: tensor '{}' is left out\n", n);
  models::write_folder(to, [&](const fs::path& draft) {
    models::copy_companions(from, draft);
    models::save_model(*model, draft, dtype);
  });
  fmt::print("{} → {}: {} parameters in {}\n", from.string(), to.string(), nn::parameter_count(*model),
             dtype_name(dtype));
  return 0;
}

GgufType gguf_type(const std::string& dtype) {
  for (const auto& [name, type] :
       {std::pair{"f32", GgufType::f32}, {"f16", GgufType::f16}, {"bf16", GgufType::bf16}, {"q8_0", GgufType::q8_0}})
    if (dtype == name) return type;
  throw UsageError(fmt::format("--dtype '{}': a .gguf file takes f32, f16, bf16 or q8_0", dtype));
}

int write_gguf(const fs::path& from, const fs::path& to, const std::string& dtype) {
  const gguf::GgufExportReport r = gguf::export_gguf(nn::builtin_registry(), from, to, gguf_type(dtype));
  for (const std::string& n : r.notes) fmt::print(stderr, "warning: {}\n", n);
  fmt::print("{} → {}: {} parameters in {}\n", from.string(), to.string(), r.parameters, dtype);
  return 0;
}

}  // namespace

int cmd_export(Words args) {
  std::string from, to, config, tokenizer;
  StoredType stored;
  Args a("export", "convert a training checkpoint to a model folder, or a model to a .gguf file");
  a.positional("RUN", from)
      .positional("DIR", to)
      .flag("--config FILE", config, "config.json of the model [from RUN/recipe.json]")
      .flag("--tokenizer DIR", tokenizer, "folder with the tokenizer to include [from RUN/recipe.json]")
      .settings(stored)
      .note(
          "RUN is the folder of a run, whose newest committed checkpoint is used, or a folder step_N in it. It may "
          "also be\na model whose weights are in other files, pytorch_model.bin or a .gguf file, which becomes a "
          "folder "
          "of safetensors\n(--dtype f32 keeps every bit of f32, bf16 and f16).\n"
          "If DIR ends in .gguf, the model becomes one file that llama.cpp opens, with its tokenizer and chat "
          "template;\n--dtype then also takes f16 and q8_0. Families: Llama, Mistral, Qwen2, Qwen3, Granite 4, "
          "Bamba, "
          "Falcon-H1\nand Nemotron-H.");
  if (!a.parse(args)) return 0;
  if (encoders::is_encoder(from))
    fail("{0} is an encoder's folder, not a training run: it needs no export; use it as it is (quern embed {0})",
         from);
  const bool gguf = fs::path(to).extension() == ".gguf";
  if (gguf && !is_model(from))
    fail("{} is not a model folder: a .gguf file is written from one, so export the run to a folder first", from);
  if (is_model(from)) {
    if (!config.empty() || !tokenizer.empty())
      throw UsageError(
          fmt::format("quern export: {} is a model, which brings its own config.json and tokenizer", from));
    return gguf ? write_gguf(from, to, stored.dtype) : convert_model(from, to, parse_compute_dtype(stored.dtype));
  }
  const train::ExportReport r = train::export_checkpoint(
      nn::builtin_registry(), from, to,
      {.config = config, .tokenizer = tokenizer, .dtype = parse_compute_dtype(stored.dtype)});
  fmt::print("{} → {}: step {}, {} parameters{}\n", r.from.string(), to, r.step, r.parameters,
             r.tokenizer ? "" : "; no tokenizer found: name one with --tokenizer");
  return 0;
}

}  // namespace quern::cli
