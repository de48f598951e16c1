#include "quern/encoders/layers.h"

#include <algorithm>
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/norm/norm.h"

namespace quern::encoders {
namespace {

constexpr int64_t kGrain = 8192;  // elements worth a thread

// LayerNorm's parameters had other names in TensorFlow's days.
std::string older_name(std::string name) {
  const auto swap_end = [&](std::string_view from, std::string_view to) {
    if (name.ends_with(from)) name.replace(name.size() - from.size(), from.size(), to);
  };
  swap_end("LayerNorm.weight", "LayerNorm.gamma");
  swap_end("LayerNorm.bias", "LayerNorm.beta");
  return name;
}

}  // namespace

int64_t TokenBatch::longest() const {
  int64_t n = 0;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) n = std::max<int64_t>(n, offsets[i + 1] - offsets[i]);
  return n;
}

Tensor Dense::apply(const Tensor& x) const {
  Tensor y = Tensor::empty({x.dim(0), weight.n()}, DType::f32);
  Arena& scratch = thread_arena();
  Arena::Scope scope(scratch);
  weight.apply(x.view<const float, 2>(), bias.defined() ? bias.view<const float, 1>() : View<const float, 1>(),
               y.view<float, 2>(), scratch);
  return y;
}

void Norm::apply(const Tensor& x, const Tensor& y) const {
  kernels::layer_norm<float>({.x = x.view<const float, 2>(),
                              .w = weight.view<const float, 1>(),
                              .b = bias.defined() ? bias.view<const float, 1>() : View<const float, 1>(),
                              .eps = eps,
                              .y = y.view<float, 2>()});
}

void Norm::add_apply(const Tensor& x, const Tensor& y) const {
  add(x, y);
  apply(y, y);
}

std::string EncoderWeights::find(const std::string& name) const {
  for (const std::string& prefix : prefixes_)
    for (const std::string& full : {prefix + name, older_name(prefix + name)})
      if (folder_.contains(full)) return full;
  return {};
}

Tensor EncoderWeights::tensor(const std::string& name, const Shape& shape) const {
  const std::string full = find(name);
  if (full.empty())
    fail("{}: tensor '{}' is missing", prefixes_.front().empty() ? "encoder" : prefixes_.front(), name);
  const Tensor t = folder_.tensor(full);
  if (t.shape() != shape)
    fail("tensor '{}' has shape {}, the configuration says {}", full, to_string(t.shape()), to_string(shape));
  return t.to(DType::f32).clone();  // not a window of the mapped file
}

Dense EncoderWeights::dense(const std::string& name, int64_t n, int64_t k, HasBias bias) const {
  return stacked({name}, n, k, bias);
}

Dense EncoderWeights::dense_f32(const std::string& name, int64_t n, int64_t k, HasBias bias) const {
  return EncoderWeights(folder_, prefixes_, DType::f32).dense(name, n, k, bias);
}

Dense EncoderWeights::stacked(const std::vector<std::string>& names, int64_t n, int64_t k, HasBias bias) const {
  const auto parts = static_cast<int64_t>(names.size());
  Tensor w = Tensor::empty({parts * n, k}, DType::f32);
  Dense d;
  if (bias == HasBias::yes) d.bias = Tensor::empty({parts * n}, DType::f32);
  for (int64_t i = 0; i < parts; ++i) {
    const std::string& name = names[static_cast<size_t>(i)];
    w.narrow(0, i * n, n).copy_from(tensor(name + ".weight", {n, k}));
    if (bias == HasBias::yes) d.bias.narrow(0, i * n, n).copy_from(tensor(name + ".bias", {n}));
  }
  d.weight = kernels::PrepackedWeight::pack(w, format_);
  return d;
}

Norm EncoderWeights::norm(const std::string& name, int64_t n, double eps, HasBias bias) const {
  return {tensor(name + ".weight", {n}), bias == HasBias::yes ? tensor(name + ".bias", {n}) : Tensor(), eps};
}

Tensor attend(const Tensor& qkv, int64_t heads, const TokenBatch& batch, kernels::AttentionOptions options) {
  const int64_t t = qkv.dim(0), width = qkv.dim(1) / 3, d = width / heads;
  Tensor o = Tensor::empty({t, width}, DType::f32);
  const float* at = qkv.data<float>();
  const auto part = [&](int64_t i) { return View<const float, 3>(at + i * width, {t, heads, d}, {3 * width, d, 1}); };
  std::vector<kernels::AttentionSegment<float>> segments;
  for (int64_t i = 0; i < batch.texts(); ++i) {
    const int64_t begin = batch.offsets[static_cast<size_t>(i)], end = batch.offsets[static_cast<size_t>(i) + 1];
    segments.push_back({begin, end - begin, part(1).slice(begin, end), part(2).slice(begin, end)});
  }
  options.sight = kernels::Sight::both;
  Arena& scratch = thread_arena();
  Arena::Scope scope(scratch);
  kernels::attention<float, float>(part(0), segments, options, {o.data<float>(), {t, heads, d}, {width, d, 1}}, {},
                                   scratch);
  return o;
}

void activate(kernels::Activation a, const Tensor& x) {
  kernels::activate<float>(a, x.view<const float, 2>(), x.view<float, 2>());
}

void add(const Tensor& x, const Tensor& y) {
  const float* from = x.data<float>();
  float* to = y.data<float>();
  parallel_for(x.size(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

void look_up(const Tensor& table, std::span<const int32_t> ids, Rows how, const Tensor& out) {
  const int64_t d = table.dim(1);
  for (int32_t id : ids)
    if (id < 0 || id >= table.dim(0)) fail("id {} is outside of an embedding of {} rows", id, table.dim(0));
  parallel_for(static_cast<int64_t>(ids.size()), kGrain / d + 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const float* from = table.data<float>() + ids[static_cast<size_t>(t)] * d;
      float* to = out.data<float>() + t * d;
      if (how == Rows::set) std::memcpy(to, from, static_cast<size_t>(d) * sizeof(float));
      for (int64_t i = 0; how == Rows::add && i < d; ++i) to[i] += from[i];
    }
  });
}

Tensor first_rows(const Tensor& x, std::span<const int32_t> offsets) {
  const auto n = static_cast<int64_t>(offsets.size()) - 1, d = x.dim(1);
  Tensor out = Tensor::empty({n, d}, DType::f32);
  for (int64_t i = 0; i < n; ++i)
    std::copy_n(x.data<float>() + offsets[static_cast<size_t>(i)] * d, d, out.data<float>() + i * d);
  return out;
}

Tensor mean_rows(const Tensor& x, std::span<const int32_t> offsets) {
  const auto n = static_cast<int64_t>(offsets.size()) - 1, d = x.dim(1);
  Tensor out = Tensor::zeros({n, d}, DType::f32);
  parallel_for(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t from = offsets[static_cast<size_t>(i)], to = offsets[static_cast<size_t>(i) + 1];
      float* sum = out.data<float>() + i * d;
      for (int64_t t = from; t < to; ++t)
        for (int64_t k = 0; k < d; ++k) sum[k] += x.data<float>()[t * d + k];
      for (int64_t k = 0; k < d; ++k) sum[k] /= static_cast<float>(std::max<int64_t>(1, to - from));
    }
  });
  return out;
}

}  // namespace quern::encoders
