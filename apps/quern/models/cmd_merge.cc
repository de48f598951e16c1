// quern merge: a LoRA adapter merged into a copy of its model, for tools that know no adapters.
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/models/model_folder.h"
#include "quern/nn/builtin_registry.h"

namespace quern::cli {

int cmd_merge(Words args) {
  std::string from, adapter;
  std::string out;
  StoredType stored;
  double scale = 1;
  Args a("merge", "merge a LoRA adapter into a copy of its model");
  a.positional("MODEL", from)
      .positional("ADAPTER", adapter)
      .flag("--out DIR", out, "new model folder [ADAPTER-merged]")
      .settings(stored)
      .flag("--scale X", scale, "factor of the adapter's effect")
      .note(
          "Running the model with the adapter (--lora) gives the same outputs without a second copy. An adapter "
          "that\n"
          "differs between the layers that share a block (Zamba, Zamba2) cannot be merged.");
  if (!a.parse(args)) return 0;
  if (stored.dtype != "bf16" && stored.dtype != "f32")
    throw UsageError(fmt::format("quern merge: --dtype '{}': expected bf16 or f32", stored.dtype));
  while (adapter.size() > 1 && adapter.back() == '/') adapter.pop_back();
  if (out.empty()) out = adapter + "-merged";
  models::check_new_folder(out);
  from = model_folder(from);
  const auto model =
      models::load_model(nn::builtin_registry(), from, {.pack = false, .adapter = adapter, .adapter_scale = scale});
  models::write_folder(out, [&](const std::filesystem::path& draft) {
    models::copy_companions(from, draft);
    models::save_model(*model, draft, stored.dtype == "f32" ? DType::f32 : DType::bf16);
  });
  fmt::print("{}: {} parameters in {}\n", out, nn::parameter_count(*model), stored.dtype);
  return 0;
}

}  // namespace quern::cli
