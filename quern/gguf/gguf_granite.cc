#include "quern/gguf/gguf_granite.h"

#include <cmath>

#include "quern/base/error.h"
#include "quern/gguf/gguf_mamba2.h"
#include "quern/gguf/gguf_rope.h"

namespace quern::gguf {
namespace {

// Key/value heads per layer: a list whose zeros are Mamba layers, or one number for all.
std::vector<int64_t> kv_heads(GgufMetadata& m, int64_t layers) {
  const char* key = "attention.head_count_kv";
  const Json* j = m.own(key);
  if (!j) fail("{} is missing", m.where_own(key));
  std::vector<int64_t> heads;
  if (!j->is_array()) {
    heads.assign(static_cast<size_t>(layers), j->as_int(m.where_own(key)));
  } else {
    for (const Json& n : j->as_array(m.where_own(key))) heads.push_back(n.as_int(m.where_own(key)));
    if (static_cast<int64_t>(heads.size()) != layers)
      fail("{}: {} entries for {} layers", m.where_own(key), heads.size(), layers);
  }
  int64_t one = 0;
  for (int64_t n : heads) {
    if (n < 0 || (n > 0 && one > 0 && n != one))
      fail("{}: {}, expected one number of heads in all layers with attention, and 0 in the others", m.where_own(key),
           n);
    one = std::max(one, n);
  }
  return heads;
}

void set_mamba(GgufMetadata& m, Json& j) {
  const GgufSsm s = ssm_sizes(m);
  const int64_t width = j.at("hidden_size").as_int();
  if (width < 1 || s.inner % width)
    fail("{}: {} is not a multiple of embedding_length {}", m.where_own("ssm.inner_size"), s.inner, width);
  j.set("mamba_n_heads", s.heads), j.set("mamba_d_head", s.inner / s.heads), j.set("mamba_n_groups", s.groups);
  j.set("mamba_d_state", s.states), j.set("mamba_d_conv", s.taps), j.set("mamba_expand", s.inner / width);
}

// Inner width of the feed-forward that every token takes; 0 where there are experts alone.
int64_t shared_width(const GgufFile& f) {
  for (const char* name : {"blk.0.ffn_gate_shexp.weight", "blk.0.ffn_gate.weight"})
    if (f.entries().count(name)) return matrix_shape(f, name)[0];
  return 0;
}

// Both flags by layer: whether any tensor of the name is there.
bool any(const GgufFile& f, int64_t layers, const char* name) {
  for (int64_t l = 0; l < layers; ++l)
    if (f.entries().count(fmt::format("blk.{}.{}", l, name))) return true;
  return false;
}

void set_granite(GgufMetadata& m, Json& j, double attention_scale) {
  const int64_t experts = m.whole("expert_count", 0);
  j.set("model_type", "granitemoehybrid");
  j.set("num_local_experts", experts);
  if (experts > 0) j.set("num_experts_per_tok", m.whole("expert_used_count"));
  j.set("intermediate_size", m.whole("feed_forward_length", 0));
  j.set("shared_intermediate_size", shared_width(m.file()));
  j.set("attention_multiplier", attention_scale);
  for (const auto& [key, name] : {std::pair{"embedding_scale", "embedding_multiplier"},
                                  {"residual_scale", "residual_multiplier"},
                                  {"logit_scale", "logits_scaling"}})
    if (const double v = m.real(key, 0); v != 0) j.set(name, v);
}

}  // namespace

Json granite_config(GgufMetadata& m) {
  Json j = common_config(m);
  const int64_t layers = j.at("num_hidden_layers").as_int(), heads = m.whole("attention.head_count");
  const int64_t width = j.at("hidden_size").as_int();
  if (heads < 1 || width % heads)
    fail("{}: {} does not divide embedding_length {}", m.where_own("attention.head_count"), heads, width);
  for (const char* key : {"attention.key_length", "attention.value_length"})
    if (const int64_t d = m.whole(key, width / heads); d != width / heads)
      fail("{}: {}, expected {}", m.where_own(key), d, width / heads);
  const std::vector<int64_t> kv = kv_heads(m, layers);
  Json types = Json::array(), attention = Json::array();
  int64_t kv_one = 0;
  for (int64_t l = 0; l < layers; ++l) {
    const int64_t n = kv[static_cast<size_t>(l)];
    types.push(n > 0 ? "attention" : "mamba");
    if (n > 0) attention.push(l), kv_one = n;
  }
  j.set("num_attention_heads", heads);
  j.set("num_key_value_heads", kv_one > 0 ? kv_one : heads);
  j.set("attention_bias", any(m.file(), layers, "attn_q.bias"));
  if (kv_one == 0 || attention.as_array().size() < static_cast<size_t>(layers)) set_mamba(m, j);
  const bool rotary = m.flag("rope.scaling.finetuned", true);
  const double scale = m.real("attention.scale", 0);
  const bool plain = m.arch() == "granitehybrid" && rotary && scale == 0 && m.real("residual_scale", 0) == 0 &&
                     m.real("embedding_scale", 0) == 0 && m.real("logit_scale", 0) == 0 &&
                     m.whole("expert_count", 0) == 0;
  m.whole("expert_shared_feed_forward_length", 0);  // the tensors say it
  if (plain) {
    j.set("model_type", "bamba");
    j.set("intermediate_size", m.whole("feed_forward_length"));
    j.set("attn_layer_indices", attention);
    j.set("mlp_bias", any(m.file(), layers, "ffn_gate.bias"));
  } else {
    set_granite(m, j, scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(width / heads)));
    j.set("layer_types", types);
    j.set("position_embedding_type", rotary ? "rope" : "nope");
  }
  j.set("mamba_conv_bias", any(m.file(), layers, "ssm_conv1d.bias"));
  j.set("mamba_proj_bias", any(m.file(), layers, "ssm_in.bias"));
  if (rotary)
    j.set("rope_parameters", rope_parameters(m, width / heads, plain ? RotatedHead::part : RotatedHead::whole));
  else  // nothing is rotated, whatever these say
    m.own("rope.dimension_count"), m.own("rope.freq_base");
  return j;
}

void granite_tensors(GgufTensors& t, const Json& config) {
  const bool bamba = config.at("model_type") == Json("bamba");
  const int64_t layers = config.at("num_hidden_layers").as_int(), heads = config.at("num_attention_heads").as_int();
  const int64_t head_dim = config.at("hidden_size").as_int() / heads;
  int64_t rotary = head_dim;  // converters put whole heads in pairs where nothing is rotated as well
  if (const Json* r = config.find("rope_parameters")) {
    const Json* share = r->find("partial_rotary_factor");
    rotary = static_cast<int64_t>(std::lround((share ? share->as_double() : 1) * static_cast<double>(head_dim)));
  }
  t.skip("rope_freqs.weight");  // read already
  for (int64_t l = 0; l < layers; ++l) {
    const std::string p = fmt::format("blk.{}.", l), hf = fmt::format("model.layers.{}.", l);
    auto add = [&](const std::string& ours, const std::string& theirs) {
      for (const char* kind : {".weight", ".bias"})
        if (t.has(p + theirs + kind)) t.add(hf + ours + kind, p + theirs + kind);
    };
    add("input_layernorm", "attn_norm");
    add(bamba ? "pre_ff_layernorm" : "post_attention_layernorm", "ffn_norm");
    if (t.has(p + "ssm_in.weight")) mamba2_tensors(t, l, hf + "mamba.");
    for (const char* x : {"q", "k"})
      for (const char* kind : {".weight", ".bias"})
        if (const std::string name = fmt::format("{}attn_{}{}", p, x, kind); t.has(name))
          t.add_rotated(fmt::format("{}self_attn.{}_proj{}", hf, x, kind), name,
                        *x == 'q' ? heads : config.at("num_key_value_heads").as_int(), rotary);
    add("self_attn.v_proj", "attn_v"), add("self_attn.o_proj", "attn_output");
    if (bamba) {
      add("feed_forward.gate_proj", "ffn_gate"), add("feed_forward.up_proj", "ffn_up");
      add("feed_forward.down_proj", "ffn_down");
      continue;
    }
    for (const char* kind : {"", "_shexp"})
      if (t.has(fmt::format("{}ffn_gate{}.weight", p, kind))) {
        t.add_stacked(hf + "shared_mlp.input_linear.weight", fmt::format("{}ffn_gate{}.weight", p, kind),
                      fmt::format("{}ffn_up{}.weight", p, kind));
        add("shared_mlp.output_linear", fmt::format("ffn_down{}", kind));
      }
    if (!t.has(p + "ffn_gate_inp.weight")) continue;
    add("block_sparse_moe.router.layer", "ffn_gate_inp"), add("block_sparse_moe.output_linear", "ffn_down_exps");
    t.add_stacked(hf + "block_sparse_moe.input_linear.weight", p + "ffn_gate_exps.weight", p + "ffn_up_exps.weight");
  }
}

}  // namespace quern::gguf
