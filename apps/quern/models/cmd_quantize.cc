// quern quantize: a model folder into a quantized one, with the error of every matrix; with a budget of bytes, in mixed
// precision by the sensitivity of every matrix.
#include <unistd.h>

#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/mixed_flags.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/mmap.h"
#include "quern/models/quantize.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::cli {
namespace {

std::vector<int32_t> tokens_of(const std::string& model, const std::string& file, const char* flag) {
  if (file.empty()) return {};
  const std::string text = read_file(file);
  std::vector<int32_t> ids = models::load_tokenizer(model).encode(text, {});
  if (text.empty() || ids.empty()) fail("{} {}: the text has no tokens", flag, file);
  return ids;
}

// Matrices that are packed as one are named after the first.
std::string short_name(const std::string& name) {
  const size_t plus = name.find(" + ");
  return plus == name.npos ? name : name.substr(0, plus) + " + …";
}

// What is printed: a table, or one object.
class QuantizeReport {
 public:
  QuantizeReport(bool json, bool calibrated) : json_(json), calibrated_(calibrated) {}

  void add_to(models::QuantizeOptions& o) {
    o.report = [this](const models::QuantizationRecorder::Row& r) { matrix(r); };
    o.mixed.report = [this](const std::vector<models::MatrixGroup>& g) { groups(g); };
    o.mixed.progress = [](const models::MatrixGroup& g) {
      if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{:<78.78}", fmt::format("KL {:.6f}  {}", *g.kl, g.name));
    };
  }

  void finish(const std::string& to) {
    const double bits = 8.0 * static_cast<double>(bytes_) / static_cast<double>(std::max<int64_t>(1, weights_));
    const auto file =
        static_cast<int64_t>(std::filesystem::file_size(std::filesystem::path(to) / "model.safetensors"));
    if (!json_) {
      fmt::print("{}: {} weights in {} bytes, {:.2f} bits each; model.safetensors: {} bytes\n", to, weights_, bytes_,
                 bits, file);
      return;
    }
    Json j = Json::object();
    j.set("folder", to), j.set("weights", weights_), j.set("bytes", bytes_), j.set("bits_per_weight", bits);
    j.set("file_bytes", file);
    if (!groups_.as_array().empty()) j.set("groups", groups_);
    j.set("matrices", rows_);
    fmt::print("{}\n", j.dump(2));
  }

 private:
  void groups(const std::vector<models::MatrixGroup>& all) {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r{:<78}\r", "");
    if (!json_) fmt::print("{:<60} {:>12} {:>12}  {}\n", "group", "weights", "KL, as q4", "format");
    for (const models::MatrixGroup& g : all) {
      const char* format = g.raised ? "q8" : "q4";
      if (!json_)
        fmt::print("{:<60} {:>12} {:>12}  {}\n", short_name(g.name), g.weights,
                   g.kl ? fmt::format("{:.6f}", *g.kl) : "-", format);
      Json j = Json::object();
      j.set("name", g.name), j.set("weights", g.weights), j.set("added_bytes", g.added), j.set("format", format);
      if (g.kl) j.set("kl", *g.kl);
      groups_.push(std::move(j));
    }
  }

  void matrix(const models::QuantizationRecorder::Row& r) {
    if (!json_ && weights_ == 0)
      fmt::print("{:<60} {:>16} {:<28} {:>12}{}\n", "matrix", "shape", "format", "error (rms)",
                 calibrated_ ? "   of outputs" : "");
    bytes_ += r.bytes, weights_ += r.n * r.k;
    if (!json_)
      fmt::print("{:<60} {:>16} {:<28} {:>11.3f}%{}\n", r.name, fmt::format("{} × {}", r.n, r.k),
                 kernels::to_string(r.scheme), 100 * r.error,
                 r.output_error ? fmt::format(" {:>11.3f}%", 100 * *r.output_error) : "");
    Json j = Json::object();
    j.set("name", r.name), j.set("n", r.n), j.set("k", r.k), j.set("bytes", r.bytes);
    j.set("scheme", models::to_json(r.scheme)), j.set("relative_rms_error", r.error);
    if (r.output_error) j.set("relative_output_error", *r.output_error);
    rows_.push(std::move(j));
  }

  bool json_, calibrated_;
  int64_t bytes_ = 0, weights_ = 0;
  Json rows_ = Json::array(), groups_ = Json::array();
};

}  // namespace

int cmd_quantize(Words args) {
  std::string from, to, scheme = "q8", head = "q8", calibration, sensitivity;
  int64_t group = 32;
  bool asymmetric = false, json = false;
  MixedFlags mixed;
  Args a("quantize", "quantize the weights of a model to 8 or 4 bits");
  a.positional("DIR", from)
      .positional("OUT", to)
      .flag("--quant FORMAT", scheme, "weight format: q8, q4, or q8a8 (q8 with int8 activations)")
      .alias("--scheme")
      .flag("--group N", group, "q4: number of weights that share a scale, 32 or 64")
      .flag("--asymmetric", asymmetric, "q4: store a zero point per group")
      .flag("--head FORMAT", head, "format of embedding and LM head: q8, q4 or bf16");
  mixed.add_to(a);
  a.flag("--sensitivity FILE", sensitivity,
         "text on which mixed precision measures the sensitivity of every matrix: the KL divergence that q4 of it "
         "alone "
         "costs; without one the order is by kind of matrix")
      .flag("--calibration FILE", calibration,
            "calibration text: round weights to minimize the error of layer outputs on it (GPTQ-style)")
      .json(json)
      .note("DIR is a model folder or a .gguf file. Routers, norms and convolutions keep their precision.");
  if (!a.parse(args)) return 0;
  from = model_folder(from);
  models::QuantizeOptions o;
  o.body = {kernels::parse_format(scheme, "--quant"), group, asymmetric};
  o.head = {kernels::parse_format(head, "--head"), group, asymmetric};
  if (!o.body.quantized()) throw UsageError(fmt::format("--quant {}: expected q8, q4 or q8a8", scheme));
  if (group != 32 && group != 64) throw UsageError(fmt::format("--group {}: expected 32 or 64", group));
  mixed.apply(o);
  if (!sensitivity.empty() && !mixed.given())
    throw UsageError("--sensitivity orders matrices of mixed precision: give --max-file-mib or --max-bits with it");
  const std::vector<int32_t> ids = tokens_of(from, calibration, "--calibration"),
                             text = tokens_of(from, sensitivity, "--sensitivity");
  o.calibration = ids, o.mixed.text = text;
  QuantizeReport report(json, !ids.empty());
  report.add_to(o);
  models::quantize_folder(nn::builtin_registry(), from, to, o);
  report.finish(to);
  return 0;
}

}  // namespace quern::cli
