#include "quern/gguf/export/gguf_sheet.h"

#include <algorithm>
#include <cstring>

#include "quern/base/error.h"

namespace quern::gguf {
namespace {

Tensor paired(const Tensor& whole, int64_t heads, int64_t rotary) {
  const Tensor t = whole.contiguous_copy_if_needed();
  const int64_t rows = t.dim(0), row_bytes = t.bytes() / rows, d = rows / heads;
  Tensor out = t.clone();
  const auto* from = static_cast<const std::byte*>(t.raw());
  auto* to = static_cast<std::byte*>(out.raw());
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t s = 0; s < 2; ++s)
      for (int64_t j = 0; j < rotary / 2; ++j)
        std::memcpy(to + (h * d + 2 * j + s) * row_bytes, from + (h * d + s * (rotary / 2) + j) * row_bytes,
                    static_cast<size_t>(row_bytes));
  return out;
}

// These stay in f32: vectors, and what decides or drives a recurrence.
bool small(const std::string& name, const Shape& shape) {
  if (shape.size() < 2) return true;
  for (const char* part : {"ssm_a", "ssm_d", "ssm_conv1d", "ssm_norm", "ffn_gate_inp"})
    if (name.find(part) != name.npos) return true;
  return false;
}

}  // namespace

GgufSheet::GgufSheet(models::Model& model, const TensorFolder& weights, std::string arch, GgufType matrices)
    : model_(model), weights_(weights), arch_(std::move(arch)), matrices_(matrices) {
  model_.visit("", [&](const std::string& name, grad::Parameter& p) { parameters_[name] = &p; });
  set("general.architecture", arch_);
  set("general.type", std::string("model"));
}

void GgufSheet::put(const std::string& name, Shape shape, std::function<Tensor()> read) {
  GgufType type = small(name, shape) ? GgufType::f32 : matrices_;
  if (shape.back() % gguf_format(static_cast<uint32_t>(type))->elements) type = GgufType::f32;
  writer_.add(name, std::move(shape), type, std::move(read));
}

void GgufSheet::take(const std::string& hf, const std::string& name, Shape shape, Change change) {
  if (!has(hf)) fail("tensor '{}' is missing", hf);
  taken_.insert(hf);
  put(name, std::move(shape), [this, hf, p = parameters_.at(hf), change = std::move(change)] {
    const Tensor t = model_.read(weights_, hf, *p);
    if (!t.defined()) fail("tensor '{}' is missing", hf);
    return change ? change(t) : t;
  });
}

void GgufSheet::take_both(const std::string& hf, const std::string& name) {
  for (const char* kind : {".weight", ".bias"})
    if (has(hf + kind)) take(hf + kind, name + kind);
}

void GgufSheet::take_halves(const std::string& hf, const std::string& above, const std::string& below) {
  Shape half = shape(hf);
  const int axis = static_cast<int>(half.size()) - 2;
  const int64_t n = half[static_cast<size_t>(axis)] / 2;
  half[static_cast<size_t>(axis)] = n;
  auto part = [axis, n](int64_t begin) { return [=](const Tensor& t) { return t.narrow(axis, begin, n); }; };
  take(hf, above, half, part(0));
  take(hf, below, half, part(n));
}

void GgufSheet::take_rotated(const std::string& hf, const std::string& name, int64_t heads, int64_t rotary) {
  take(hf, name, shape(hf), [heads, rotary](const Tensor& t) { return paired(t, heads, rotary); });
}

void GgufSheet::take_scaled(const std::string& hf, const std::string& name, const Factors& rows) {
  if (std::all_of(rows.begin(), rows.end(), [](const auto& r) { return r.second == 1; })) return take(hf, name);
  take(hf, name, shape(hf), [rows](const Tensor& t) {
    Tensor out = t.to(DType::f32).contiguous_copy_if_needed().clone();
    const int64_t width = out.size() / out.dim(0);
    float* x = out.data<float>();
    for (const auto& [n, factor] : rows)
      for (const float* end = x + n * width; x < end; ++x) *x *= static_cast<float>(factor);
    return out;
  });
}

void GgufSheet::add(const std::string& name, const Tensor& f32) {
  writer_.add(name, f32.shape(), GgufType::f32, [f32] { return f32; });
}

const GgufWriter& GgufSheet::finished() const {
  for (const auto& [name, p] : parameters_)
    if (!taken_.count(name)) fail("tensor '{}' has no place in a GGUF file of architecture {}", name, arch_);
  return writer_;
}

}  // namespace quern::gguf
