// What the families of Mamba-2 layers beside attention share in config.json: the keys mamba_*, the bounds of the time
// step, and the kinds of layers.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/mixers/mamba2/mamba2_mixer.h"
#include "quern/models/llama/rope_scaling.h"

namespace quern::models {

struct MambaSettings {
  int64_t n_heads = 128, n_groups = 1, d_state = 256, d_conv = 4, expand = 2;
  Json d_head = "auto";  // or a number
  bool conv_bias = true, proj_bias = false;

  template <class V>
  void visit(V& v) {
    v("mamba_n_heads", n_heads, "heads of a Mamba layer");
    v("mamba_d_head", d_head, "channels of a Mamba head, or auto: inner channels over heads");
    v("mamba_n_groups", n_groups, "groups of heads that share B and C");
    v("mamba_d_state", d_state, "states of a channel");
    v("mamba_d_conv", d_conv, "taps of the convolution");
    v("mamba_expand", expand, "inner channels over hidden_size");
    v("mamba_conv_bias", conv_bias, "bias of the convolution");
    v("mamba_proj_bias", proj_bias, "biases of the Mamba projections");
  }

  // The mixer of a model of this width; throws Error naming the key. eps is that of the gated norm; inner: channels of
  // the mixer, mamba_expand · width unless given.
  mixers::Mamba2Config mixer(int64_t width, double eps, std::optional<int64_t> inner = {}) const;
};

// Bounds of the time step, [lower, upper], as transformers writes them: the upper one may be infinite. Absent or null:
// none.
void read_time_step_limit(const Json& config, mixers::Mamba2Config& mixer);

// Rotary settings of rope_parameters, or of rope_scaling and rope_theta in older files.
RopeScaling read_rope(const Json& config, RopeBase base);

// Per layer, whether it is attention: of "attention" and "full_attention" against "mamba" and "linear_attention".
std::vector<bool> attention_layers(const std::vector<std::string>& layer_types, const std::string& key);

// Throws Error naming the key unless 1 ≤ v ≤ maximum.
void check_config_size(const char* key, int64_t v, int64_t maximum);

}  // namespace quern::models
