#include "quern/models/quantize.h"

#include <limits>
#include <map>
#include <optional>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/models/checkpoint.h"
#include "quern/models/model_folder.h"

namespace quern::models {
namespace {

namespace fs = std::filesystem;

// What a text sends through every matrix of the bf16 model. The sums of all matrices can outweigh the model, so they
// are collected for some at a time, the text being read anew for each lot.
class Calibration {
 public:
  Calibration(const nn::Registry& registry, const fs::path& from, const QuantizeOptions& o)
      : text_(o.calibration),
        model_(load_model(registry, from, {.scheme = o.body, .head = o.head, .hook = &hook_})) {}

  kernels::InputFactor inputs(size_t matrix) {
    if (matrix >= watched_) {
      watched_ = hook_.watch(matrix, kBytes);
      read();
    }
    return kernels::factor_inputs(hook_.take(matrix), kDamping);
  }

 private:
  static constexpr int64_t kBytes = int64_t{1} << 30;
  static constexpr size_t kDocument = 512;
  static constexpr double kDamping = 0.03;  // measured: 0.01 and 0.1 do as well

  void read() {
    for (size_t at = 0; at < text_.size(); at += kDocument) {
      std::span<const int32_t> ids = text_.subspan(at, std::min(kDocument, text_.size() - at));
      grad::Tape tape(grad::Tape::inference);
      model_->logits(tape, model_->hidden(tape, ids, mixers::Batch::single(static_cast<int64_t>(ids.size()))));
    }
  }

  std::span<const int32_t> text_;
  QuantizationCalibrator hook_;
  std::unique_ptr<Model> model_;
  size_t watched_ = 0;  // matrices before this one have been watched
};

}  // namespace

int64_t matrix_budget(const MixedPrecision& mixed, const QuantizedShape& shape, int64_t plain) {
  int64_t budget = std::numeric_limits<int64_t>::max();
  if (mixed.max_bytes) budget = *mixed.max_bytes - plain - header_bytes(shape);
  if (mixed.max_bits)
    budget = std::min(budget, static_cast<int64_t>(*mixed.max_bits * static_cast<double>(shape.weights()) / 8));
  return budget;
}

void check_mixed(const QuantizeOptions& o) {
  if (o.mixed.on() && o.body.format != kernels::WeightFormat::q4)
    fail("mixed precision raises matrices from q4 to q8: the format is {}", kernels::to_string(o.body));
}

std::vector<kernels::QuantFormat> formats_of(const QuantizedShape& shape) {
  std::vector<kernels::QuantFormat> formats;
  for (const QuantizedShape::Matrix& m : shape.matrices) formats.push_back(m.format);
  return formats;
}

void check_quantized_target(const fs::path& to, const QuantizeOptions& o) {
  kernels::check(o.body, "scheme"), kernels::check(o.head, "head");
  if (!o.body.quantized()) fail("scheme: {}, expected q8, q4 or q8a8", kernels::to_string(o.body));
  check_mixed(o);
  check_new_folder(to);
}

namespace {

// The formats of the matrices of the model in `from`, in mixed precision; empty: as it asks.
std::vector<kernels::QuantFormat> mixed_formats(const nn::Registry& registry, const fs::path& from,
                                                const QuantizeOptions& o) {
  if (!o.mixed.on()) return {};
  const Checkpoint files = open_checkpoint(from, DType::bf16);
  QuantizedShape shape = quantized_shape(*build_model(registry, files.config, &files.weights), o.body, o.head);
  std::map<std::string, Shape> plain_shapes(shape.plain.begin(), shape.plain.end());
  int64_t plain = 0;
  const std::unique_ptr<Model> model = build_model(registry, files.config, &files.weights);
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    if (!plain_shapes.contains(name)) return;
    const Tensor t = model->read(files.weights, name, p);
    plain += t.defined() ? t.bytes() : element_count(p.shape) * 4;
  });
  std::vector<MatrixGroup> groups = matrix_groups(shape, o.body);
  const int64_t budget = matrix_budget(o.mixed, shape, plain);
  check_budget(shape, groups, budget);
  if (!o.mixed.text.empty())
    measure_sensitivity(registry, from,
                        {.body = o.body, .head = o.head, .text = o.mixed.text, .progress = o.mixed.progress}, groups);
  raise_groups(shape, groups, budget);
  if (o.mixed.report) o.mixed.report(groups);
  return formats_of(shape);
}

}  // namespace

void save_quantized(Model& model, const QuantizationRecorder& recorder, const NamedTensors& plain, const fs::path& to,
                    const QuantizeOptions& o, const std::function<void(const fs::path&)>& companions) {
  std::vector<std::string> packed;
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (!p.value.defined()) packed.push_back(name);
  });
  Json config = model.config(), q = Json::object();
  q.set("quant_method", "quern"), q.set("version", kQuantizedVersion);
  q.set("scheme", to_json(o.body)), q.set("head", to_json(o.head));
  config.set("quantization_config", q);
  write_folder(to, [&](const fs::path& draft) {
    companions(draft);
    recorder.save(draft / "model.safetensors", plain, packed, o.body, o.head);
    write_file(draft / "config.json", config.dump(2) + "\n");
  });
}

void quantize_folder(const nn::Registry& registry, const fs::path& from, const fs::path& to,
                     const QuantizeOptions& o) {
  check_quantized_target(to, o);
  std::vector<kernels::QuantFormat> formats = mixed_formats(registry, from, o);
  std::optional<Calibration> calibration;
  QuantizationRecorder::Inputs inputs;
  if (!o.calibration.empty()) {
    calibration.emplace(registry, from, o);
    inputs = [&](size_t matrix) { return calibration->inputs(matrix); };
  }
  QuantizationRecorder recorder(std::move(inputs), o.report, std::move(formats));
  auto model = load_model(registry, from, {.scheme = o.body, .head = o.head, .hook = &recorder});
  calibration.reset();
  const TensorFolder weights = open_checkpoint(from, DType::bf16).weights;
  NamedTensors plain;
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    if (!p.value.defined()) return;
    Tensor t = model->read(weights, name, p);  // packing may have reordered the model's own copy
    plain.emplace_back(name, t.defined() ? t : p.value);
  });
  save_quantized(*model, recorder, plain, to, o, [&](const fs::path& draft) { copy_companions(from, draft); });
}

}  // namespace quern::models
