#include "quern/plan/shape.h"

#include <algorithm>
#include <array>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::plan {
namespace {

constexpr int64_t kConvHeads = 2;  // taps of the two convolutions of compressed attention

double to_double(int64_t n) { return static_cast<double>(n); }

// The most key heads up to `most` that the query heads can share evenly.
int64_t shared_heads(int64_t n_head, int64_t most) {
  int64_t n = std::max<int64_t>(1, most);
  while (n_head % n != 0) --n;
  return n;
}

// Sums and latents of compressed attention: query and key channels together.
int64_t cca_channels(const ModelShape& s) { return (s.n_head + s.n_head_kv) * s.head_dim; }
int64_t mamba_inner(const ModelShape& s) { return 2 * s.width; }
int64_t mamba_heads(const ModelShape& s) { return mamba_inner(s) / std::min<int64_t>(64, s.width / 4); }

void llama(const ModelShape& s, std::vector<Product>& v) {
  const double layers = to_double(s.layers);
  v.push_back({"attention", s.n_head * s.head_dim, s.width, s.layers, layers});
  v.push_back({"attention", s.n_head_kv * s.head_dim, s.width, 2 * s.layers, 2 * layers});
  v.push_back({"attention", s.width, s.n_head * s.head_dim, s.layers, layers});
  v.push_back({"feed-forward", s.ffn, s.width, 2 * s.layers, 2 * layers});
  v.push_back({"feed-forward", s.width, s.ffn, s.layers, layers});
}

void zaya(const ModelShape& s, std::vector<Product>& v) {
  const double layers = to_double(s.layers);
  const int64_t values = s.n_head_kv * s.head_dim;
  v.push_back({"attention", s.n_head * s.head_dim, s.width, s.layers, layers});
  v.push_back({"attention", values, s.width, s.layers, layers});
  v.push_back({"attention", values / 2, s.width, 2 * s.layers, 2 * layers});
  v.push_back({"attention", s.width, s.n_head * s.head_dim, s.layers, layers});
  v.push_back({"convolution", cca_channels(s), kConvHeads * s.head_dim, s.layers, layers});
  v.push_back({"router", s.router, s.width, s.layers, layers});
  v.push_back({"router", s.router, s.router, 2 * s.layers, 2 * layers});
  v.push_back({"router", s.experts + 1, s.router, s.layers, layers});
  v.push_back({"experts", 2 * s.ffn, s.width, s.layers * s.experts, layers});
  v.push_back({"experts", s.width, s.ffn, s.layers * s.experts, layers});
}

void zamba2(const ModelShape& s, std::vector<Product>& v) {
  const double layers = to_double(s.layers), times = to_double(s.invocations);
  const int64_t inner = mamba_inner(s), both = 2 * s.width;
  v.push_back({"mamba", 2 * inner + 2 * s.state + mamba_heads(s), s.width, s.layers, layers});
  v.push_back({"mamba", s.width, inner, s.layers, layers});
  v.push_back({"shared block", both, both, 3 * s.blocks, 3 * times});
  v.push_back({"shared block", s.width, both, s.blocks, times});
  v.push_back({"shared block", 2 * s.ffn, s.width, s.blocks, times});
  v.push_back({"shared block", s.width, s.ffn, s.blocks, times});
  v.push_back({"shared block", s.width, s.width, s.invocations, times});
  v.push_back({"adapters", s.adapter_rank, s.width, s.invocations, times});
  v.push_back({"adapters", 2 * s.ffn, s.adapter_rank, s.invocations, times});
}

// Norms, biases, scales and depthwise convolutions.
int64_t vectors(const ModelShape& s) {
  switch (s.family) {
    case Family::llama:
      return s.width * (2 * s.layers + 1);
    case Family::zaya: {
      const int64_t channels = cca_channels(s);
      const int64_t layer = 2 * s.width + 8 * s.width + channels * (kConvHeads + 2) + s.n_head_kv + 4 * s.router;
      return s.layers * layer + (s.layers - 1) * s.router + 3 * s.width;
    }
    case Family::zamba2: {
      const int64_t inner = mamba_inner(s), heads = mamba_heads(s);
      const int64_t layer = s.width + 5 * (inner + 2 * s.state) + 3 * heads + inner;
      return s.layers * layer + s.blocks * 3 * s.width + s.width;
    }
  }
  return 0;
}

}  // namespace

std::string_view family_name(Family f) {
  constexpr std::array kNames = {"llama", "zaya", "zamba2"};
  return kNames[static_cast<size_t>(f)];
}

Family parse_family(std::string_view name) {
  for (const Family f : {Family::llama, Family::zaya, Family::zamba2})
    if (family_name(f) == name) return f;
  const std::vector<std::string> all = {"llama", "zaya", "zamba2"};
  fail("model family '{}': expected llama, zaya or zamba2{}", name, did_you_mean(std::string(name), all));
}

ModelShape proportioned(Family family, int64_t width, int64_t layers, int64_t vocab) {
  ModelShape s{.family = family, .vocab = (vocab + 63) / 64 * 64, .width = width, .layers = layers};
  switch (family) {
    case Family::llama:
      s.head_dim = width >= 256 ? 64 : width / 4;
      s.n_head = width / s.head_dim, s.n_head_kv = shared_heads(s.n_head, s.n_head / 2);
      s.ffn = (width * 8 / 3 + 63) / 64 * 64;
      break;
    case Family::zaya:  // queries at half the width, keys and values at an eighth
      s.head_dim = width >= 2048 ? 128 : width >= 1024 ? 64 : 32;
      s.n_head = width / 2 / s.head_dim, s.n_head_kv = shared_heads(s.n_head, s.n_head / 4);
      s.ffn = width >= 1024 ? width : width * 3 / 2;
      s.experts = width >= 1024 ? 16 : 8, s.router = std::max<int64_t>(64, width / 8);
      break;
    case Family::zamba2:
      s.n_head = std::max<int64_t>(4, width / 64), s.head_dim = 2 * width / s.n_head, s.n_head_kv = s.n_head;
      s.ffn = 4 * width, s.state = 64, s.invocations = std::max<int64_t>(2, layers / 6), s.blocks = 2;
      s.adapter_rank = std::clamp<int64_t>(width / 8, 16, 128);
      break;
  }
  return s;
}

std::vector<Product> products(const ModelShape& s) {
  std::vector<Product> v;
  if (s.family == Family::llama) llama(s, v);
  if (s.family == Family::zaya) zaya(s, v);
  if (s.family == Family::zamba2) zamba2(s, v);
  v.push_back({"output head", s.vocab, s.width, 1, 1, true});
  return v;
}

int64_t parameters(const ModelShape& s) {
  int64_t n = vectors(s);
  for (const Product& p : products(s)) n += p.stored * p.n * p.k;
  return n;
}

double active_parameters(const ModelShape& s) {
  double n = to_double(vectors(s));
  for (const Product& p : products(s)) n += std::min(p.per_token, to_double(p.stored)) * to_double(p.n * p.k);
  return n;
}

int64_t matrix_parameters(const ModelShape& s) {
  int64_t n = 0;
  for (const Product& p : products(s)) n += p.embedding ? 0 : p.stored * p.n * p.k;
  return n;
}

double matmul_flops(const ModelShape& s) {
  double n = 0;
  for (const Product& p : products(s)) n += 2 * p.per_token * to_double(p.n * p.k);
  return n;
}

double attention_flops(const ModelShape& s, int64_t context) {  // scores and values over half the context
  const double times = to_double(s.family == Family::zamba2 ? s.invocations : s.layers);
  return 2 * times * to_double(context) * to_double(s.n_head * s.head_dim);
}

double elements(const ModelShape& s) { return to_double(s.layers * s.width); }

// From resident memory of training steps of each family at several widths, rows and vocabularies.
double activation_bytes(const ModelShape& s) { return elements(s) * (s.family == Family::zamba2 ? 95 : 65); }

}  // namespace quern::plan
