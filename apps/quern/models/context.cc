// Weight format flags and loading.
#include "apps/quern/models/context.h"

#include <cmath>
#include <cstdlib>

#include "apps/quern/cli/wait_line.h"
#include "apps/quern/models/length_note.h"
#include "quern/models/context_length.h"
#include "quern/models/quantized_file.h"
#include "quern/tensor/weight_files.h"

namespace quern::cli {
namespace {

const infer::WeightSettings::Names kFlags{.format = "--quant", .head = "--head", .kv = "--kv"};

// What is wrong with a setting is wrong with a flag.
template <class F>
auto as_usage(F&& settings) {
  try {
    return settings();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
}

}  // namespace

DType parse_compute_dtype(const std::string& text) {
  if (text == "f32") return DType::f32;
  if (text == "bf16" || text == "auto") return DType::bf16;
  throw UsageError(fmt::format("--dtype '{}': expected f32, bf16 or auto", text));
}

DType parse_kv_flag(const std::string& text) {
  return as_usage([&] { return infer::WeightSettings{.kv = text}.kv_type(kFlags); });
}

void WeightFlags::add_to(Args& args) {
  args.settings(*this, {{"dtype", dtype_default.c_str()}, {"quant"}, {"head"}});
}
void WeightFlags::add_cache_to(Args& args) { args.settings(*this, {{"kv"}}); }

models::LoadOptions WeightFlags::load_options() const {
  if (dtype && scheme) throw UsageError("--dtype and --quant both set the weight format: give only one of them");
  if (weights.head && !scheme) throw UsageError("--head needs --quant: add --quant FORMAT");
  return as_usage([&] {
    models::LoadOptions o = resolved().load_options(kFlags);
    if (scheme) o.scheme = kernels::QuantFormat(kernels::parse_format(*scheme, kFlags.format));  // f32 and bf16, too
    return o;
  });
}

std::string WeightFlags::name() const {
  return as_usage([&] { return resolved().name(); });
}
DType WeightFlags::kv() const {
  return as_usage([&] { return resolved().kv_type(kFlags); });
}

infer::WeightSettings WeightFlags::resolved() const {
  infer::WeightSettings s = weights;
  s.format = scheme ? *scheme : std::string(dtype_name(parse_compute_dtype(dtype.value_or(dtype_default))));
  return s;
}

AdapterPath::AdapterPath(const std::string& text) : folder(text) {
  const size_t colon = folder.rfind(':');
  if (colon == folder.npos || std::filesystem::exists(folder)) return;
  const std::string number = folder.substr(colon + 1);
  char* end = nullptr;
  scale = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != 0 || !std::isfinite(scale))
    throw UsageError(fmt::format("--lora '{}': expected DIR or DIR:SCALE, and '{}' is not a number", text, number));
  folder.resize(colon);
}

models::LoadOptions LoraFlag::with(models::LoadOptions options) const {
  if (!lora) return options;
  const AdapterPath adapter(*lora);
  options.adapter = adapter.folder, options.adapter_scale = adapter.scale;
  return options;
}

void ContextFlags::check() const {
  as_usage([&] { settings.check("--rope-scaling"); });
}

models::LoadOptions ContextFlags::with(models::LoadOptions options) const {
  check();
  return models::with_context(nn::builtin_registry(), std::move(options), settings);
}

int64_t weight_bytes(const std::filesystem::path& model) {
  if (!std::filesystem::is_directory(model)) return static_cast<int64_t>(std::filesystem::file_size(model));
  int64_t bytes = 0;
  for (const auto& file : weight_files(model)) bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  return bytes;
}

bool is_packing(const std::string& text) { return (text == "q8" || text == "q4") && !std::filesystem::exists(text); }

models::LoadOptions options_of(const std::string& weights) {
  models::LoadOptions options;
  if (weights == "auto" || weights == "f32" || weights == "bf16")
    options.dtype = parse_compute_dtype(weights);
  else
    options.scheme = as_usage([&] { return kernels::QuantFormat(kernels::parse_format(weights, "weights")); });
  return options;
}

std::unique_ptr<models::Model> load_for_inference(const std::filesystem::path& folder, const std::string& weights) {
  return load_for_inference(folder, options_of(weights));
}

std::unique_ptr<models::Model> load_for_inference(const std::filesystem::path& folder,
                                                  const models::LoadOptions& options) {
  models::LoadReport report;
  WaitLine wait([&, bytes = std::filesystem::exists(folder) ? weight_bytes(folder) : 0](double seconds) {
    return fmt::format("{} {}, {:.1f} GB: {:.0f} s", options.scheme ? "loading and quantizing" : "loading",
                       folder.filename().string(), static_cast<double>(bytes) * 1e-9, seconds);
  });
  auto model = models::load_model(nn::builtin_registry(), folder, options, &report);
  wait.end();
  for (const std::string& n : report.notes) fmt::print(stderr, "warning: {}\n", n);
  for (const std::string& n : report.missing)
    fmt::print(stderr, "warning: tensor '{}' is missing; using its initial value\n", n);
  if (!report.unused.empty())
    fmt::print(stderr, "warning: this model does not use {} tensors of {}; the first is '{}'\n", report.unused.size(),
               folder.string(), report.unused[0]);
  if (model->max_positions() < models::kAnyLength) return model;
  return std::make_unique<LengthNote>(std::move(model),
                                      (folder.has_filename() ? folder : folder.parent_path()).filename().string());
}

std::optional<std::pair<kernels::QuantFormat, kernels::QuantFormat>> packed_formats(
    const std::filesystem::path& folder, const models::Checkpoint& files) {
  const auto packed = models::QuantizedReader::open(folder, files.config, files.weights);
  if (!packed) return std::nullopt;
  return std::pair(packed->body(), packed->head());
}

}  // namespace quern::cli
