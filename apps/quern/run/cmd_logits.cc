// quern logits: T × V logits of a token sequence, in f32, for comparing with other implementations.
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/infer/cache/session.h"

namespace quern::cli {

int cmd_logits(Words args) {
  std::string dir, tokens, out;
  WeightFlags weights{.dtype_default = "f32"};
  Args a("logits", "write the logits of a token sequence to a .npy file");
  a.positional("DIR", dir)
      .flag("--ids LIST", tokens, "token ids, for example 1,2,3")
      .alias("--tokens")
      .flag("--out FILE", out, "output .npy file: tokens × vocabulary, f32")
      .note("DIR is a model folder or a .gguf file. No tokenizer is needed.");
  weights.add_to(a);
  LoraFlag adapter;
  ContextFlags context;
  a.settings(adapter).settings(context);
  if (!a.parse(args)) return 0;
  a.check(context);
  dir = model_folder(dir);
  if (tokens.empty()) throw UsageError("quern logits: --ids is missing: expected token ids such as 1,2,3");
  if (out.empty()) throw UsageError("quern logits: --out is missing: expected a .npy file");
  std::vector<int32_t> ids = parse_token_list(tokens, "--ids");
  auto model = load_for_inference(dir, context.with(adapter.with(weights.load_options())));
  if (std::ssize(ids) > model->max_positions())
    fail("--ids: {} tokens, and this model accepts {}: a longer --context lets it read them", ids.size(),
         model->max_positions());
  Tensor y = infer::all_logits(*model, ids);
  save_npy(out, y);
  fmt::print("{}: {} × {} logits\n", out, y.dim(0), y.dim(1));
  return 0;
}

}  // namespace quern::cli
