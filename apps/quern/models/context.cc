// Weight format flags and loading.
#include "apps/quern/models/context.h"

#include "quern/infer/cache/kv_type.h"
#include "quern/models/quantized_file.h"

namespace quern::cli {
namespace {

kernels::QuantFormat parse_quant_format(const std::string& text, const char* flag) {
  try {
    return kernels::QuantFormat(kernels::parse_format(text, flag));
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
  try {
    return infer::parse_kv(text);
  } catch (const Error& e) {
    throw UsageError(fmt::format("--kv {}", e.what()));
  }
}

void WeightFlags::add_to(Args& args) {
  args.settings(*this, {{"dtype", dtype_default.c_str()}, {"quant"}, {"head"}});
}
void WeightFlags::add_cache_to(Args& args) { args.settings(*this, {{"kv"}}); }

models::LoadOptions WeightFlags::load_options() const {
  if (dtype && scheme) throw UsageError("--dtype and --quant both set the weight format: give only one of them");
  if (head && !scheme) throw UsageError("--head needs --quant: add --quant FORMAT");
  models::LoadOptions o;
  o.dtype = rows();
  if (scheme) o.scheme = parse_quant_format(*scheme, "--quant");
  if (head) o.head = parse_quant_format(*head, "--head");
  if (o.head && o.head->format == kernels::WeightFormat::q8a8)
    throw UsageError("--head 'q8a8': expected f32, bf16, q8 or q4");
  return o;
}

std::string WeightFlags::name() const {
  if (!scheme) return std::string(dtype_name(rows()));
  return head ? fmt::format("{} with {} head", *scheme, *head) : *scheme;
}

DType WeightFlags::kv() const { return cache ? parse_kv_flag(*cache) : rows(); }

DType WeightFlags::rows() const {
  if (scheme)
    return parse_quant_format(*scheme, "--quant").format == kernels::WeightFormat::f32 ? DType::f32 : DType::bf16;
  return parse_compute_dtype(dtype.value_or(dtype_default));
}

int64_t weight_bytes(const std::filesystem::path& model) {
  if (!std::filesystem::is_directory(model)) return static_cast<int64_t>(std::filesystem::file_size(model));
  int64_t bytes = 0;
  for (const auto& f : std::filesystem::directory_iterator(model))
    if (f.path().extension() == ".safetensors") bytes += static_cast<int64_t>(f.file_size());
  return bytes;
}

bool is_packing(const std::string& text) { return (text == "q8" || text == "q4") && !std::filesystem::exists(text); }

std::unique_ptr<models::Model> load_for_inference(const std::filesystem::path& folder, const std::string& weights) {
  models::LoadOptions options;
  if (weights == "auto" || weights == "f32" || weights == "bf16")
    options.dtype = parse_compute_dtype(weights);
  else
    options.scheme = parse_quant_format(weights, "weights");
  return load_for_inference(folder, options);
}

std::unique_ptr<models::Model> load_for_inference(const std::filesystem::path& folder,
                                                  const models::LoadOptions& options) {
  models::LoadReport report;
  auto model = models::load_model(nn::builtin_registry(), folder, options, &report);
  for (const std::string& n : report.notes) fmt::print(stderr, "warning: {}\n", n);
  for (const std::string& n : report.missing)
    fmt::print(stderr, "warning: tensor '{}' is missing; using its initial value\n", n);
  if (!report.unused.empty())
    fmt::print(stderr, "warning: this model does not use {} tensors of {}; the first is '{}'\n", report.unused.size(),
               folder.string(), report.unused[0]);
  return model;
}

std::optional<std::pair<kernels::QuantFormat, kernels::QuantFormat>> packed_formats(
    const std::filesystem::path& folder, const models::Checkpoint& files) {
  const auto packed = models::QuantizedReader::open(folder, files.config, files.weights);
  if (!packed) return std::nullopt;
  return std::pair(packed->body(), packed->head());
}

}  // namespace quern::cli
