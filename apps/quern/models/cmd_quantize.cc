// quern quantize: a model folder into a quantized one, with the error of every matrix.
#include "apps/quern/cli/args.h"
#include "apps/quern/cli/verbs.h"
#include "apps/quern/models/context.h"
#include "apps/quern/models/shipped_models.h"
#include "quern/base/mmap.h"
#include "quern/models/quantize.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::cli {

int cmd_quantize(Words args) {
  std::string from, to, scheme = "q8", head = "q8", calibration;
  int64_t group = 32;
  bool asymmetric = false, json = false;
  Args a("quantize", "quantize the weights of a model to 8 or 4 bits");
  a.positional("DIR", from)
      .positional("OUT", to)
      .flag("--quant FORMAT", scheme, "weight format: q8, q4, or q8a8 (q8 with int8 activations)")
      .alias("--scheme")
      .flag("--group N", group, "q4: number of weights that share a scale, 32 or 64")
      .flag("--asymmetric", asymmetric, "q4: store a zero point per group")
      .flag("--head FORMAT", head, "format of embedding and LM head: q8, q4 or bf16")
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
  std::vector<int32_t> ids;
  if (!calibration.empty()) {
    ids = models::load_tokenizer(from).encode(read_file(calibration), {});
    if (ids.empty()) fail("--calibration {}: the text has no tokens", calibration);
    o.calibration = ids;
  }
  Json rows = Json::array();
  int64_t bytes = 0, weights = 0;
  if (!json)
    fmt::print("{:<60} {:>16} {:<28} {:>12}{}\n", "matrix", "shape", "format", "error (rms)",
               calibration.empty() ? "" : "   of outputs");
  o.report = [&](const models::QuantizationRecorder::Row& r) {
    bytes += r.bytes, weights += r.n * r.k;
    const std::string shape = fmt::format("{} × {}", r.n, r.k);
    if (!json)
      fmt::print("{:<60} {:>16} {:<28} {:>11.3f}%{}\n", r.name, shape, kernels::to_string(r.scheme), 100 * r.error,
                 r.output_error ? fmt::format(" {:>11.3f}%", 100 * *r.output_error) : "");
    Json j = Json::object();
    j.set("name", r.name), j.set("n", r.n), j.set("k", r.k), j.set("bytes", r.bytes);
    j.set("scheme", models::to_json(r.scheme)), j.set("relative_rms_error", r.error);
    if (r.output_error) j.set("relative_output_error", *r.output_error);
    rows.push(std::move(j));
  };
  models::quantize_folder(nn::builtin_registry(), from, to, o);
  const double bits = 8.0 * static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, weights));
  if (!json) {
    fmt::print("{}: {} weights in {} bytes, {:.2f} bits each\n", to, weights, bytes, bits);
    return 0;
  }
  Json j = Json::object();
  j.set("folder", to), j.set("weights", weights), j.set("bytes", bytes), j.set("bits_per_weight", bits);
  j.set("matrices", rows);
  fmt::print("{}\n", j.dump(2));
  return 0;
}

}  // namespace quern::cli
