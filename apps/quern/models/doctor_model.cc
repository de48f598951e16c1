#include "apps/quern/models/doctor_model.h"

#include <algorithm>
#include <filesystem>

#include "apps/quern/models/context.h"
#include "quern/encoders/encoder.h"
#include "quern/models/context_length.h"

namespace quern::cli {
namespace {

// A folder that is quantized stays as it is; others are offered in every format.
std::vector<plan::FormatCost> formats_of(const std::string& folder, const models::Checkpoint& files) {
  const auto packed = std::filesystem::is_directory(folder) ? packed_formats(folder, files) : std::nullopt;
  if (!packed) return plan::format_costs();
  const std::string name(kernels::format_name(packed->first.format));
  for (const plan::FormatCost& c : plan::format_costs())
    if (name.starts_with(c.name)) return {c};  // q8a8 is stored as q8
  return plan::format_costs();
}

// Of an encoder every matrix but the embeddings meets every token. It keeps no state.
plan::InferenceSize encoder_size(const models::Checkpoint& files) {
  plan::InferenceSize s;
  for (const std::string& name : files.weights.names()) {
    const TensorFolder::Entry& e = files.weights.entry(name);
    const int64_t n = element_count(e.shape);
    if (name.find("embeddings") != name.npos)
      s.head += n;
    else
      (e.shape.size() > 1 ? s.body : s.rest) += n;
  }
  s.active_body = static_cast<double>(s.body);
  return s;
}

}  // namespace

bool ModelDiagnosis::fits() const {
  return std::ranges::any_of(formats, [](const auto& f) { return f.context > 0; });
}

ModelDiagnosis diagnose(const std::string& folder, const plan::MachineRates& rates, double f32_gflops,
                        double free_bytes) {
  ModelDiagnosis d{.folder = folder, .kind = {}, .free_bytes = free_bytes};
  d.weights_mib = (weight_bytes(folder) + (1 << 20) - 1) >> 20;
  try {
    const models::Checkpoint files = models::open_checkpoint(folder);
    if (encoders::is_encoder(folder)) {
      d.kind = "encoder";
      plan::InferenceSize size = encoder_size(files);
      size.max_positions = d.max_positions = encoders::positive(files.config, "max_position_embeddings");
      const plan::FormatCost f32{"f32", 4, 4};
      d.formats.push_back(plan::forecast(size, f32, {.bf16_gflops = f32_gflops}, 0, free_bytes));
      for (const plan::FormatCost& c : plan::format_costs())
        d.formats.push_back(plan::forecast(size, c, {.bf16_gflops = rates.bf16_gflops}, 0, free_bytes));
      return d;
    }
    const auto model = models::build_model(nn::builtin_registry(), files.config, &files.weights);
    const std::vector<plan::FormatCost> formats = formats_of(folder, files);
    d.kind = model->family(), d.max_positions = models::context_length(*model);
    d.stored_quantized = formats.size() == 1;
    const plan::InferenceSize size = plan::inference_size(*model, DType::bf16);
    for (const plan::FormatCost& c : formats)
      d.formats.push_back(plan::forecast(size, c, rates, kDoctorDepth, free_bytes));
  } catch (const Error& e) {
    d.fault = e.what();
  }
  return d;
}

void print(const ModelDiagnosis& d) {
  const auto mib = [](double bytes) { return static_cast<int64_t>(bytes) >> 20; };
  fmt::print("model            {}: {} MiB of files, {} MiB of free memory\n", d.folder, d.weights_mib,
             mib(d.free_bytes));
  if (!d.fault.empty()) {
    fmt::print("do: repair the model's files, or download them again: {}\n", d.fault);
    return;
  }
  const bool speeds = d.formats[0].prefill_tokens_per_s > 0;
  fmt::print(
      "                 {}; forecast{}:\n", d.kind,
      speeds ? fmt::format(" from the rates above{}",
                           d.kind == "encoder" ? "" : fmt::format(", decode at {} tokens of context", kDoctorDepth))
             : "");
  fmt::print("                 {:<8}{:>12}{:>10}{:>16}{:>14}{:>14}\n", "format", "weights", "fits", "context",
             speeds ? "prefill" : "", speeds && d.kind != "encoder" ? "decode" : "");
  for (const plan::InferenceForecast& f : d.formats)
    fmt::print("                 {:<8}{:>8} MiB{:>10}{:>16}{:>14}{:>14}\n", f.format, mib(f.weight_bytes),
               f.context > 0 ? "yes" : "no",
               f.context == 0                 ? ""
               : f.context == d.max_positions ? fmt::format("{} (all)", f.context)
                                              : fmt::format("{}", f.context),
               speeds ? fmt::format("{:.0f} tok/s", f.prefill_tokens_per_s) : "",
               f.decode_tokens_per_s > 0
                   ? fmt::format("{:.{}f} tok/s", f.decode_tokens_per_s, f.decode_tokens_per_s < 10 ? 1 : 0)
                   : "");
  const bool as_bf16 = d.formats[0].context > 0;
  if (!d.fits())
    fmt::print("do: free memory, or use a smaller model{}\n",
               d.stored_quantized ? "" : ": no format of this one fits");
  else if (d.kind == "encoder")
    fmt::print("do: quern embed {} --encoder-quant FORMAT, or quern serve {}\n", d.folder, d.folder);
  else if (d.stored_quantized)
    fmt::print("do: quern run {}\n", d.folder);
  else
    fmt::print("do: quern run {}{}\n", d.folder,
               as_bf16 ? "; --quant q8 or q4 makes it smaller and faster"
                       : " --quant q4, or once: quern quantize --quant q4 (it does not fit in bf16)");
}

Json to_json(const ModelDiagnosis& d) {
  Json j = Json::object(), list = Json::array();
  j.set("folder", d.folder), j.set("kind", d.kind), j.set("weights_mib", d.weights_mib), j.set("fits", d.fits());
  for (const plan::InferenceForecast& f : d.formats) {
    Json one = Json::object();
    one.set("format", f.format), one.set("weight_bytes", static_cast<int64_t>(f.weight_bytes));
    one.set("context", f.context), one.set("prefill_tokens_per_s", f.prefill_tokens_per_s);
    one.set("decode_tokens_per_s", f.decode_tokens_per_s);
    list.push(std::move(one));
  }
  j.set("formats", std::move(list));
  if (!d.fault.empty()) j.set("error", d.fault);
  return j;
}

}  // namespace quern::cli
