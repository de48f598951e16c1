#include "apps/quern/models/shapes.h"

#include <algorithm>
#include <span>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/models/llama/llama_config.h"
#include "quern/models/zamba/zamba_config.h"
#include "quern/models/zamba/zamba_stack.h"
#include "quern/models/zamba2/zamba2_config.h"
#include "quern/models/zaya/zaya_config.h"

namespace quern::cli {
namespace {

struct NamedShape {
  const char* size;
  int64_t width, layers, n_head, n_head_kv, head_dim, ffn, experts, router, context;
  double rope_theta;
};

// "8b" is ZAYA1-8B as published; the others keep its proportions (q at half width, k/v at an eighth).
constexpr NamedShape kZaya[] = {
    {"tiny", 64, 2, 4, 1, 8, 64, 4, 16, 2048, 1e4},          {"mini", 128, 4, 4, 1, 16, 192, 8, 32, 2048, 1e4},
    {"nano", 256, 8, 4, 1, 32, 384, 8, 64, 4096, 1e4},       {"small", 512, 12, 8, 2, 32, 768, 8, 128, 8192, 1e5},
    {"60m", 512, 9, 8, 2, 32, 384, 8, 128, 8192, 1e5},       {"1b", 1024, 24, 8, 2, 64, 1024, 16, 128, 32768, 1e6},
    {"8b", 2048, 40, 8, 2, 128, 2048, 16, 256, 131072, 5e6},
};
constexpr NamedShape kLlama[] = {
    {"tiny", 64, 2, 4, 2, 16, 160, 0, 0, 2048, 1e4},   {"mini", 128, 4, 4, 2, 32, 320, 0, 0, 2048, 1e4},
    {"nano", 256, 8, 4, 2, 64, 640, 0, 0, 4096, 1e4},  {"small", 512, 12, 8, 4, 64, 1408, 0, 0, 8192, 1e5},
    {"60m", 512, 14, 8, 4, 64, 1408, 0, 0, 8192, 1e5}, {"1b", 2048, 16, 32, 8, 64, 8192, 0, 0, 131072, 5e5},
};

// Zamba2 "1.2b", "2.7b", "7b" and Zamba "7b" as published.
struct ZambaShape {
  const char* size;
  int64_t width, layers, n_head, n_state, groups, blocks, rank, context;
  bool attention_adapter, rope;
  std::vector<int64_t> hybrid;
};
const std::vector<ZambaShape>& zamba2_shapes() {
  static const std::vector<ZambaShape> shapes = {
      {"tiny", 64, 4, 4, 16, 1, 1, 8, 2048, true, true, {1, 3}},
      {"mini", 128, 6, 4, 32, 1, 2, 16, 2048, false, true, {1, 3, 5}},
      {"nano", 256, 10, 4, 64, 1, 2, 32, 4096, false, true, {2, 5, 8}},
      {"small", 512, 20, 8, 64, 1, 2, 64, 4096, false, true, {4, 9, 14, 19}},
      {"60m", 512, 22, 8, 64, 1, 2, 64, 4096, false, true, {5, 10, 15, 20}},
      {"1.2b", 2048, 38, 32, 128, 1, 1, 128, 4096, true, true, {5, 11, 17, 23, 29, 35}},
      {"2.7b", 2560, 54, 32, 64, 1, 2, 128, 4096, false, false, {6, 12, 18, 24, 30, 36, 42, 47, 51}},
      {"7b", 3584, 81, 32, 64, 2, 2, 128, 4096, false, true, {6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77}},
  };
  return shapes;
}
// Layers follow from a period and an offset: the published 6 and 4, or 3 and 1 where that left one invocation of the
// shared block alone (transformers opens no such model).
const std::vector<ZambaShape>& zamba_shapes() {
  static const std::vector<ZambaShape> shapes = {
      {"tiny", 64, 6, 4, 16, 0, 0, 0, 2048, false, false, {}},
      {"mini", 128, 8, 4, 16, 0, 0, 0, 2048, false, false, {}},
      {"nano", 256, 14, 4, 16, 0, 0, 0, 4096, false, false, {}},
      {"7b", 3712, 76, 16, 16, 0, 0, 0, 4096, false, false, {}},
  };
  return shapes;
}

Json zamba2_config(const ZambaShape& s, int64_t vocab) {
  models::Zamba2Config c;
  c.vocab_size = vocab;
  c.hidden_size = s.width;
  c.num_hidden_layers = s.layers;
  c.num_attention_heads = s.n_head;
  c.mamba_d_state = s.n_state;
  c.mamba_ngroups = s.groups;
  c.n_mamba_heads = 2 * s.width / std::min<int64_t>(64, s.width / 4);
  c.num_mem_blocks = s.blocks;
  c.adapter_rank = s.rank;
  c.max_position_embeddings = s.context;
  c.use_shared_attention_adapter = s.attention_adapter;
  c.use_mem_rope = s.rope;
  std::vector<bool> hybrid(static_cast<size_t>(s.layers));
  for (int64_t l : s.hybrid) hybrid[static_cast<size_t>(l)] = true;
  c.layers_block_type = models::zamba_layer_names(hybrid);
  return c.to_hf();
}

Json zamba_config(const ZambaShape& s, int64_t vocab) {
  models::ZambaConfig c;
  c.vocab_size = vocab;
  c.hidden_size = s.width;
  c.intermediate_size = 4 * s.width;
  c.num_hidden_layers = s.layers;
  c.num_attention_heads = c.num_key_value_heads = s.n_head;
  c.mamba_d_state = s.n_state;
  c.max_position_embeddings = s.context;
  if (s.layers < 8) c.attn_layer_period = 3, c.attn_layer_offset = 1;
  Json j = c.to_hf();
  j.erase("layers_block_type");
  return models::ZambaConfig::from_hf(j).to_hf();
}

const std::vector<std::string> kFamilies = {"zaya", "llama", "zamba", "zamba2"};

template <class F>
auto with_table(const std::string& family, F&& f) {
  if (family == "zaya") return f(std::span<const NamedShape>(kZaya));
  if (family == "llama") return f(std::span<const NamedShape>(kLlama));
  if (family == "zamba") return f(std::span<const ZambaShape>(zamba_shapes()));
  if (family == "zamba2") return f(std::span<const ZambaShape>(zamba2_shapes()));
  fail("model family '{}': expected one of {}{}", family, fmt::join(kFamilies, ", "),
       did_you_mean(family, kFamilies));
}

Json config_of(const std::string& family, const ZambaShape& s, int64_t vocab) {
  return family == "zamba" ? zamba_config(s, vocab) : zamba2_config(s, vocab);
}

Json config_of(const std::string& family, const NamedShape& shape, int64_t padded) {
  const NamedShape* it = &shape;
  if (family == "llama") {
    models::LlamaConfig c;
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
  models::ZayaConfig c;
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

}  // namespace

int64_t shape_vocab(const std::string& family, const std::string& size) {
  if (size == "60m") return 32000;
  if (family == "zaya") return size == "8b" ? 262272 : 512;
  return family != "llama" && size.ends_with("b") ? 32000 : 512;
}

std::vector<std::string> shape_families() { return kFamilies; }

std::vector<std::string> shape_sizes(const std::string& family) {
  return with_table(family, [](auto rows) {
    std::vector<std::string> names;
    for (const auto& s : rows) names.push_back(s.size);
    return names;
  });
}

Json shape_config(const std::string& family, const std::string& size, int64_t vocab_size) {
  return with_table(family, [&](auto rows) {
    auto it = std::find_if(rows.begin(), rows.end(), [&](const auto& s) { return size == s.size; });
    if (it == rows.end())
      fail("model size '{}': {} has the sizes {}", size, family, fmt::join(shape_sizes(family), ", "));
    return config_of(family, *it, (vocab_size + 63) / 64 * 64);
  });
}

}  // namespace quern::cli
