#include "apps/quern/context.h"

#include "apps/quern/args.h"

namespace quern {

const Registry& registry() {
  static const Registry* r = [] {
    auto* made = new Registry;
    register_everything(*made);
    return made;
  }();
  return *r;
}

DType parse_compute_dtype(const std::string& text) {
  if (text == "f32") return DType::f32;
  if (text == "bf16" || text == "auto") return DType::bf16;
  throw UsageError(fmt::format("--dtype '{}': expected f32 or bf16", text));
}

std::unique_ptr<Model> load_for_inference(const std::filesystem::path& folder, const std::string& dtype) {
  LoadReport report;
  LoadOptions options;
  options.dtype = parse_compute_dtype(dtype);
  auto model = load_model(registry(), folder, options, &report);
  for (const std::string& n : report.missing)
    fmt::print(stderr, "warning: tensor '{}' is absent; its initial value is used\n", n);
  if (!report.unused.empty())
    fmt::print(stderr, "warning: {} tensors of {} are not used by this model, the first is '{}'\n",
               report.unused.size(), folder.string(), report.unused[0]);
  return model;
}

}  // namespace quern
