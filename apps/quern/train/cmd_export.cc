// quern export: converts a training checkpoint to a Hugging Face folder.
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "quern/encoders/encoder.h"
#include "quern/train/trainer/export.h"

namespace quern::cli {

int cmd_export(Words args) {
  std::string from, to, config, tokenizer;
  StoredType stored;
  Args a("export", "convert a training checkpoint to a model folder");
  a.positional("RUN", from)
      .positional("DIR", to)
      .flag("--config FILE", config, "config.json of the model [from RUN/recipe.json]")
      .flag("--tokenizer DIR", tokenizer, "folder with the tokenizer to include [from RUN/recipe.json]")
      .settings(stored)
      .note("RUN is the folder of a run, whose newest committed checkpoint is used, or a folder step_N in it.");
  if (!a.parse(args)) return 0;
  if (encoders::is_encoder(from))
    fail("{0} is an encoder's folder, not a training run: it needs no export; use it as it is (quern embed {0})",
         from);
  const train::ExportReport r = train::export_checkpoint(
      nn::builtin_registry(), from, to,
      {.config = config, .tokenizer = tokenizer, .dtype = parse_compute_dtype(stored.dtype)});
  fmt::print("{} → {}: step {}, {} parameters{}\n", r.from.string(), to, r.step, r.parameters,
             r.tokenizer ? "" : "; no tokenizer found: name one with --tokenizer");
  return 0;
}

}  // namespace quern::cli
