#include "apps/quern/shapes.h"

#include <algorithm>
#include <span>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/models/llama/llama_config.h"
#include "quern/models/zaya/zaya_config.h"

namespace quern {
namespace {

struct NamedShape {
  const char* size;
  int64_t width, layers, n_head, n_head_kv, head_dim, ffn, experts, router, context;
  double rope_theta;
};

// "8b" is ZAYA1-8B as published; the others keep its proportions (q at half width, k/v at an eighth).
constexpr NamedShape kZaya[] = {
    {"tiny", 64, 2, 4, 1, 8, 64, 4, 16, 2048, 1e4},        {"mini", 128, 4, 4, 1, 16, 192, 8, 32, 2048, 1e4},
    {"nano", 256, 8, 4, 1, 32, 384, 8, 64, 4096, 1e4},     {"small", 512, 12, 8, 2, 32, 768, 8, 128, 8192, 1e5},
    {"1b", 1024, 24, 8, 2, 64, 1024, 16, 128, 32768, 1e6}, {"8b", 2048, 40, 8, 2, 128, 2048, 16, 256, 131072, 5e6},
};
constexpr NamedShape kLlama[] = {
    {"tiny", 64, 2, 4, 2, 16, 160, 0, 0, 2048, 1e4},      {"mini", 128, 4, 4, 2, 32, 320, 0, 0, 2048, 1e4},
    {"nano", 256, 8, 4, 2, 64, 640, 0, 0, 4096, 1e4},     {"small", 512, 12, 8, 4, 64, 1408, 0, 0, 8192, 1e5},
    {"1b", 2048, 16, 32, 8, 64, 8192, 0, 0, 131072, 5e5},
};

std::span<const NamedShape> table(const std::string& family) {
  if (family == "zaya") return kZaya;
  if (family == "llama") return kLlama;
  fail("--family '{}': expected zaya or llama{}", family, did_you_mean(family, {"zaya", "llama"}));
}

}  // namespace

std::vector<std::string> shape_sizes(const std::string& family) {
  std::vector<std::string> names;
  for (const NamedShape& s : table(family)) names.push_back(s.size);
  return names;
}

Json shape_config(const std::string& family, const std::string& size, int64_t vocab_size) {
  auto rows = table(family);
  auto it = std::find_if(rows.begin(), rows.end(), [&](const NamedShape& s) { return size == s.size; });
  if (it == rows.end()) fail("--size '{}': {} comes as {}", size, family, fmt::join(shape_sizes(family), ", "));
  int64_t padded = (vocab_size + 63) / 64 * 64;
  if (family == "llama") {
    LlamaConfig c;
    c.vocab_size = padded;
    c.hidden_size = it->width;
    c.intermediate_size = it->ffn;
    c.num_hidden_layers = it->layers;
    c.num_attention_heads = it->n_head;
    c.num_key_value_heads = it->n_head_kv;
    c.head_dim = it->head_dim;
    c.max_position_embeddings = it->context;
    c.rms_norm_eps = 1e-5;
    c.rope_theta = it->rope_theta;
    c.tie_word_embeddings = true;
    return c.to_hf();
  }
  ZayaConfig c;
  c.vocab_size = padded;
  c.hidden_size = it->width;
  c.num_hidden_layers = it->layers;
  c.num_attention_heads = it->n_head;
  c.num_key_value_heads = it->n_head_kv;
  c.head_dim = it->head_dim;
  c.moe_intermediate_size = it->ffn;
  c.num_experts = it->experts;
  c.router_hidden_size = it->router;
  c.max_position_embeddings = it->context;
  c.rope["hybrid"] = {it->rope_theta, 0.5};
  c.layer_types.assign(static_cast<size_t>(it->layers), "hybrid");
  return c.to_hf();
}

}  // namespace quern
