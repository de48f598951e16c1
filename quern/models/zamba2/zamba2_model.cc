#include "quern/models/zamba2/zamba2_model.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/mixers/mamba2/mamba2_mixer.h"
#include "quern/nn/registry.h"

namespace quern::models {
namespace {

ZambaStackConfig stack_config(const Zamba2Config& c) {
  ZambaStackConfig s;
  s.vocab = c.vocab_size;
  s.width = c.hidden_size;
  s.eps = c.rms_norm_eps;
  s.tied = c.tie_word_embeddings;
  s.hybrid = zamba_hybrid_layers(c.layers_block_type);
  s.n_block = c.num_mem_blocks;
  s.block_name = "shared_transformer";
  s.block.width = c.hidden_size;
  s.block.n_head = c.num_attention_heads;
  s.block.n_head_kv = c.kv_heads();
  s.block.ffn = c.ffn();
  s.block.act = kernels::parse_activation(c.hidden_act);
  s.block.eps = c.rms_norm_eps;
  if (c.use_mem_rope) s.block.rotary_dims = c.head_size(), s.block.rope = c.rope().config;
  s.block.fused_gate_up = true;
  s.block.ffn_bias = c.add_bias_linear;
  s.block.adapter_rank = c.adapter_rank;
  s.block.attention_adapter = c.use_shared_attention_adapter;
  return s;
}

mixers::Mamba2Config mixer_config(const Zamba2Config& c) {
  mixers::Mamba2Config m;
  m.width = c.hidden_size;
  m.n_head = c.heads();
  m.head_dim = c.inner() / c.heads();
  m.n_state = c.mamba_d_state;
  m.n_group = c.mamba_ngroups;
  m.taps = c.mamba_d_conv;
  m.conv_bias = c.use_conv_bias;
  m.proj_bias = c.add_bias_linear;
  m.dt_min = c.time_step_floor;
  if (c.time_step_limit) {
    m.dt_min = std::max(m.dt_min, c.time_step_limit->first);
    m.dt_max = c.time_step_limit->second;
  }
  return m;
}

void replace(std::string& s, const std::string& from, const std::string& to) {
  if (size_t at = s.find(from); at != s.npos) s.replace(at, from.size(), to);
}

// "…linear_q_adapter_list.3.0.weight" → "…linear_q_lora_A_list.3.weight"
void rename_adapter(std::string& s) {
  const std::string list = "_adapter_list.";
  const size_t at = s.find(list);
  if (at == s.npos) return;
  const bool down = s.ends_with(".0.weight");
  s = s.substr(0, s.size() - std::string(".0.weight").size()) + ".weight";
  s.replace(at, list.size(), down ? "_lora_A_list." : "_lora_B_list.");
}

}  // namespace

std::string zamba2_legacy_name(const std::string& name, const std::vector<int64_t>& hybrid_layers) {
  const std::string layers = "model.layers.";
  if (!name.starts_with(layers)) return {};
  const size_t dot = name.find('.', layers.size());
  const std::string layer = name.substr(layers.size(), dot - layers.size());
  std::string rest = name.substr(dot + 1);
  const auto hybrid = std::find(hybrid_layers.begin(), hybrid_layers.end(), std::stoll(layer));
  const auto number = hybrid - hybrid_layers.begin();
  if (rest == "linear.weight") return fmt::format("model.linear_layers.{}.weight", number);
  if (const std::string shared = "shared_transformer."; rest.starts_with(shared)) {
    rest = rest.substr(shared.size());
    replace(rest, "feed_forward.gate_up_proj", "feed_forward.linear_fc1");
    replace(rest, "feed_forward.down_proj", "feed_forward.linear_fc2");
    rename_adapter(rest);
    return fmt::format("model.blocks.{}.{}", number, rest);
  }
  replace(rest, "mamba_decoder.", "");
  return fmt::format("model.mamba_layers.{}.{}", layer, rest);
}

Zamba2Model::Zamba2Model(Zamba2Config config)
    : ZambaStack(stack_config(config), [&] { return std::make_unique<mixers::Mamba2Mixer>(mixer_config(config)); }),
      config_(std::move(config)) {}

std::string Zamba2Model::other_name(const std::string& name) const {
  return zamba2_legacy_name(name, hybrid_layers());
}

bool Zamba2Model::ignorable(const std::string& tensor) const {
  // Once every parameter was found, what is left in the old layout is a second copy (some repositories hold both) or
  // an adapter of an invocation that never meets the block it is stored with.
  for (const char* old : {"model.blocks.", "model.mamba_layers.", "model.linear_layers."})
    if (tensor.starts_with(old)) return true;
  return ZambaStack::ignorable(tensor);
}

void register_zamba2(nn::Registry& r) {
  r.models.add("zamba2", [](const Json& config, const TensorFolder*) -> std::unique_ptr<Model> {
    return std::make_unique<Zamba2Model>(Zamba2Config::from_hf(config));
  });
}

}  // namespace quern::models
