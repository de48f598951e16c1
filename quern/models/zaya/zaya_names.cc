#include "quern/models/zaya/zaya_names.h"

#include <array>

#include "quern/base/error.h"

namespace quern::models {
namespace {

struct Row {
  const char *current, *legacy;
  int half;  // 0: half-layer 2k, 1: 2k+1, 2: 2k+2 (or the model's own)
};

// Inside block k; a name matches by prefix, so one row serves .weight and .bias, or the four residual vectors.
constexpr std::array kBlock = {
    Row{"input_layernorm.", "input_norm.", 0},
    Row{"self_attn.qkv_proj.q_proj.", "self_attn.qkv.linear_q.", 0},
    Row{"self_attn.qkv_proj.k_proj.", "self_attn.qkv.linear_k.", 0},
    Row{"self_attn.qkv_proj.v_proj_current.", "self_attn.qkv.val_proj1.", 0},
    Row{"self_attn.qkv_proj.v_proj_delayed.", "self_attn.qkv.val_proj2.", 0},
    Row{"self_attn.qkv_proj.conv_qk_depthwise.", "self_attn.qkv.conv_qk.0.", 0},
    Row{"self_attn.qkv_proj.conv_qk_grouped.", "self_attn.qkv.conv_qk.1.", 0},
    Row{"self_attn.qk_norm.temp", "self_attn.qkv.temp", 0},
    Row{"self_attn.o_proj.", "self_attn.o_proj.", 0},
    Row{"post_attention_residual_scale.", "res_scale.", 1},
    Row{"post_attention_layernorm.", "input_norm.", 1},
    Row{"mlp.gate.down_proj.", "zaya_block.router.down_proj.", 1},
    Row{"mlp.gate.router_states_scale", "zaya_block.router.router_states_scale", 1},
    Row{"mlp.gate.router_mlp.norm.", "zaya_block.router.rmsnorm_eda.", 1},
    Row{"mlp.gate.router_mlp.fc1.", "zaya_block.router.router_mlp.0.", 1},
    Row{"mlp.gate.router_mlp.fc2.", "zaya_block.router.router_mlp.2.", 1},
    Row{"mlp.gate.router_mlp.out_proj.", "zaya_block.router.router_mlp.4.", 1},
    Row{"mlp.gate.balancing_biases", "zaya_block.router.balancing_biases", 1},
    Row{"post_mlp_residual_scale.", "res_scale.", 2},
};

std::string swap_prefix(const std::string& s, const std::string& from, const std::string& to) {
  return s.starts_with(from) ? to + s.substr(from.size()) : s;
}

}  // namespace

LayoutPlace zaya_legacy_place(const std::string& name, int64_t n_blocks) {
  if (name == "model.norm.weight") return {"model.final_norm.weight", ""};
  std::string s = swap_prefix(name, "model.input_hidden_states_", "model.layers.0.res_scale.hidden_states_");
  const std::string layers = "model.layers.";
  if (s != name || !name.starts_with(layers)) return {s, ""};
  size_t dot = name.find('.', layers.size());
  int64_t k = std::stoll(name.substr(layers.size(), dot - layers.size()));
  std::string rest = name.substr(dot + 1);
  for (auto [stacked, part] :
       {std::pair{"mlp.experts.gate_up_proj", "linear_fc1.weight"}, {"mlp.experts.down_proj", "linear_fc2.weight"}})
    if (rest == stacked)
      return {fmt::format("model.layers.{}.zaya_block.experts.local_experts.", 2 * k + 1), fmt::format(".{}", part)};
  for (const Row& r : kBlock) {
    if (!rest.starts_with(r.current)) continue;
    std::string owner = r.half == 2 && k + 1 == n_blocks ? "model." : fmt::format("model.layers.{}.", 2 * k + r.half);
    return {owner + swap_prefix(rest, r.current, r.legacy), ""};
  }
  QUERN_CHECK(false, "no legacy name for {}", name);
  return {};
}

std::string zaya_interim_name(const std::string& name) {
  std::string s = name;
  auto replace = [&](const std::string& from, const std::string& to) {
    if (size_t at = s.find(from); at != s.npos) s.replace(at, from.size(), to);
  };
  replace(".mlp.", ".zaya_block.");
  replace(".post_mlp_residual_scale.", ".post_mlp_res_scale.");
  replace(".self_attn.qk_norm.temp", ".self_attn.temp");
  replace(".post_attention_layernorm.", ".post_attention_norm.");
  return s;
}

}  // namespace quern::models
