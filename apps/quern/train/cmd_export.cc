// quern export: a training checkpoint as a Hugging Face folder.
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "quern/train/trainer/export.h"

namespace quern {

int cmd_export(Words args) {
  std::string from, to, config, tokenizer, dtype = "bf16";
  Args a("export", "a training checkpoint as a model folder");
  a.positional("RUN", from)
      .positional("DIR", to)
      .flag("--config", config, "a config.json, where RUN/recipe.json does not tell it all")
      .flag("--tokenizer", tokenizer, "folder of the tokenizer that goes with it (by itself the recipe's)")
      .flag("--dtype", dtype, "bf16 or f32")
      .note("RUN is a run (its newest committed checkpoint is taken) or a folder step_N of one.");
  if (!a.parse(args)) return 0;
  const ExportReport r = export_checkpoint(
      everything(), from, to, {.config = config, .tokenizer = tokenizer, .dtype = parse_compute_dtype(dtype)});
  fmt::print("{} → {}: step {}, {} parameters{}\n", r.from.string(), to, r.step, r.parameters,
             r.tokenizer ? "" : "; no tokenizer was found, name one with --tokenizer");
  return 0;
}

}  // namespace quern
