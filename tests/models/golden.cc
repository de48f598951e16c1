#include "tests/models/golden.h"

#include <algorithm>
#include <cmath>

#include "quern/infer/cache/session.h"

namespace quern {
namespace {

std::vector<int32_t> ints(const std::filesystem::path& p) {
  Tensor t = load_npy(p.string());
  auto s = t.span<int32_t>();
  return {s.begin(), s.end()};
}

}  // namespace

Golden::Golden(const std::string& name)
    : folder(std::filesystem::path(QUERN_SOURCE_DIR) / "tests" / "goldens" / name) {
  if (!std::filesystem::exists(folder / "tokens.npy"))
    return;  // a legacy folder: weights alone, the rest from its twin
  tokens = ints(folder / "tokens.npy");
  rows = ints(folder / "rows.npy");
  logits = load_npy((folder / "logits.npy").string());
}

std::unique_ptr<models::Model> load_golden(const Golden& g, DType dtype, bool pack) {
  models::LoadReport report;
  auto m = models::load_model(nn::builtin_registry(), g.folder, {.dtype = dtype, .pack = pack}, &report);
  for (const std::string& n : report.unused) fail("{}: nobody read '{}'", g.folder.string(), n);
  for (const std::string& n : report.missing) fail("{}: '{}' is missing", g.folder.string(), n);
  return m;
}

double relative_error(const Tensor& a, const Tensor& b) {
  QUERN_CHECK(a.shape() == b.shape(), "{} against {}", to_string(a.shape()), to_string(b.shape()));
  Tensor x = a.to(DType::f64).contiguous_copy_if_needed(), y = b.to(DType::f64).contiguous_copy_if_needed();
  double worst = 0, scale = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    double d = std::abs(x.item(i) - y.item(i));
    worst = std::isnan(d) ? INFINITY : std::max(worst, d);
    scale = std::max(scale, std::abs(y.item(i)));
  }
  return scale > 0 ? worst / scale : worst;
}

double logit_error(models::Model& model, const Golden& g, int64_t n) {
  Tensor got = infer::all_logits(model, std::span(g.tokens).first(static_cast<size_t>(n)));
  double worst = 0;
  for (size_t r = 0; r < g.rows.size(); ++r)
    if (g.rows[r] < n)
      worst = std::max(worst,
                       relative_error(got.narrow(0, g.rows[r], 1), g.logits.narrow(0, static_cast<int64_t>(r), 1)));
  return worst;
}

GradientError gradient_error(models::Model& model, const Golden& g, int64_t tokens, bool bf16, bool recompute) {
  SafetensorsFile expected(g.folder / "grads.safetensors");
  std::span<const int32_t> ids = std::span(g.tokens).first(static_cast<size_t>(tokens));
  std::vector<int32_t> targets(ids.begin() + 1, ids.end());
  targets.push_back(-1);
  grad::Tape tape(grad::Tape::training, bf16 ? grad::Precision::bf16 : grad::Precision::f32);
  tape.recompute_layers = recompute;
  grad::Var loss = model.loss(tape, model.hidden(tape, ids, mixers::Batch::single(tokens)), targets);
  tape.backward(loss);
  GradientError e;
  e.loss = std::abs(loss.value.item() - expected.tensor("loss").item());
  model.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (!p.trainable || (bf16 && !p.matrix))
      return;  // sums over tokens that nearly cancel say nothing about rounding
    Tensor want = expected.tensor(name);
    double err = p.grad.defined() ? relative_error(p.grad, want)
                 : want.size() && relative_error(Tensor::zeros(want.shape(), DType::f32), want) > 0 ? 1.0
                                                                                                    : 0.0;
    if (err > e.worst) e.worst = err, e.name = name;
  });
  return e;
}

}  // namespace quern
