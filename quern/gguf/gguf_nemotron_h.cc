#include "quern/gguf/gguf_nemotron_h.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/gguf/gguf_mamba2.h"

namespace quern::gguf {
namespace {

// A number per layer, zero where the layer has none; the others must agree. Returns that one number, 0 without any.
int64_t per_layer(GgufMetadata& m, const char* key, int64_t layers, std::vector<int64_t>& numbers) {
  const Json* j = m.own(key);
  const std::string where = m.where_own(key);
  if (!j) fail("{} is missing", where);
  if (!j->is_array()) fail("{}: expected a list, one number per layer", where);
  int64_t one = 0;
  for (const Json& n : j->as_array(where)) {
    numbers.push_back(n.as_int(where));
    const int64_t v = numbers.back();
    if (v < 0 || (v > 0 && one > 0 && v != one))
      fail("{}: {}, expected one number in all layers that have it, and 0 in the others", where, v);
    one = std::max(one, v);
  }
  if (static_cast<int64_t>(numbers.size()) != layers)
    fail("{}: {} entries for {} layers", where, numbers.size(), layers);
  return one;
}

}  // namespace

Json nemotron_h_config(GgufMetadata& m) {
  const auto any = [&](int64_t layers, const char* name) {
    for (int64_t l = 0; l < layers; ++l)
      if (m.file().entries().count(fmt::format("blk.{}.{}", l, name))) return true;
    return false;
  };
  Json j = common_config(m);
  const int64_t layers = j.at("num_hidden_layers").as_int(), heads = m.whole("attention.head_count");
  if (heads < 1) fail("{}: {}, expected at least 1", m.where_own("attention.head_count"), heads);
  std::vector<int64_t> kv, ffn;
  const int64_t n_kv = per_layer(m, "attention.head_count_kv", layers, kv);
  const int64_t width = per_layer(m, "feed_forward_length", layers, ffn);
  Json types = Json::array();
  for (int64_t l = 0; l < layers; ++l) {
    const auto k = static_cast<size_t>(l);
    if (kv[k] > 0 && ffn[k] > 0)
      fail("{}: layer {} has attention and a feed-forward, expected one of them", m.where_own("feed_forward_length"),
           l);
    types.push(kv[k] > 0 ? "attention" : ffn[k] > 0 ? "mlp" : "mamba");
  }
  const GgufSsm s = ssm_sizes(m);
  const int64_t head_dim = m.whole("attention.key_length", j.at("hidden_size").as_int() / heads);
  if (const int64_t v = m.whole("attention.value_length", head_dim); v != head_dim)
    fail("{}: {}, expected {} as attention.key_length", m.where_own("attention.value_length"), v, head_dim);
  for (const char* key : {"rope.dimension_count", "rope.freq_base"}) m.own(key);  // nothing is rotated
  j.set("model_type", "nemotron_h");
  j.set("layer_norm_epsilon",
        m.real("attention.layer_norm_rms_epsilon", m.real("attention.layer_norm_epsilon", 1e-5)));
  m.own("attention.layer_norm_epsilon");
  j.erase("rms_norm_eps"), j.erase("hidden_act");
  j.set("layers_block_type", types);
  j.set("intermediate_size", width > 0 ? width : 1);
  j.set("num_attention_heads", heads), j.set("num_key_value_heads", n_kv > 0 ? n_kv : heads);
  j.set("head_dim", head_dim);
  j.set("ssm_state_size", s.states), j.set("mamba_num_heads", s.heads), j.set("mamba_head_dim", s.inner / s.heads);
  j.set("n_groups", s.groups), j.set("conv_kernel", s.taps);
  j.set("use_conv_bias", any(layers, "ssm_conv1d.bias")), j.set("use_bias", any(layers, "ssm_in.bias"));
  j.set("mlp_bias", any(layers, "ffn_up.bias"));
  return j;
}

void nemotron_h_tensors(GgufTensors& t, const Json& config) {
  for (int64_t l = 0; l < config.at("num_hidden_layers").as_int(); ++l) {
    const std::string p = fmt::format("blk.{}.", l), hf = fmt::format("model.layers.{}.", l);
    auto add = [&](const char* ours, const char* theirs) {
      for (const char* kind : {".weight", ".bias"})
        if (t.has(p + theirs + kind)) t.add(hf + ours + kind, p + theirs + kind);
    };
    add("norm", "attn_norm");
    if (t.has(p + "ssm_in.weight")) mamba2_tensors(t, l, hf + "mixer.");
    // Converters put the rows of queries and keys in pairs though nothing is rotated.
    for (const auto& [x, heads] : {std::pair{"q", "num_attention_heads"}, {"k", "num_key_value_heads"}})
      if (const std::string name = fmt::format("{}attn_{}.weight", p, x); t.has(name))
        t.add_rotated(fmt::format("{}mixer.{}_proj.weight", hf, x), name, config.at(heads).as_int(),
                      config.at("head_dim").as_int());
    add("mixer.v_proj", "attn_v"), add("mixer.o_proj", "attn_output");
    add("mixer.up_proj", "ffn_up"), add("mixer.down_proj", "ffn_down");
  }
}

}  // namespace quern::gguf
