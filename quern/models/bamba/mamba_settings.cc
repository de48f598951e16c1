#include "quern/models/bamba/mamba_settings.h"

#include "quern/base/config.h"

namespace quern::models {

void check_config_size(const char* key, int64_t v, int64_t maximum) {
  if (v < 1 || v > maximum) fail("config.json, {}: {} is outside 1 … {}", key, v, maximum);
}

mixers::Mamba2Config MambaSettings::mixer(int64_t width, double eps, std::optional<int64_t> given) const {
  check_config_size("mamba_expand", expand, 64);
  check_config_size("mamba_n_heads", n_heads, 1 << 16);
  check_config_size("mamba_n_groups", n_groups, n_heads);
  check_config_size("mamba_d_state", d_state, 1 << 16);
  check_config_size("mamba_n_groups · mamba_d_state", n_groups * d_state, 1 << 20);
  const int64_t inner = given.value_or(expand * width);
  check_config_size(given ? "mamba_d_ssm" : "mamba_expand · hidden_size", inner, 1 << 22);
  if (inner % n_heads) fail("config.json, mamba_n_heads: {} does not divide the {} inner channels", n_heads, inner);
  const int64_t head = d_head == Json("auto") ? inner / n_heads : d_head.as_int("config.json, mamba_d_head");
  if (head != inner / n_heads)
    fail("config.json, mamba_d_head: {}, expected {} (inner channels over mamba_n_heads)", head, inner / n_heads);
  mixers::Mamba2Config m;
  m.width = width;
  m.n_head = n_heads;
  m.head_dim = head;
  m.n_state = d_state;
  m.n_group = n_groups;
  m.taps = d_conv;
  m.conv_bias = conv_bias;
  m.proj_bias = proj_bias;
  m.norm_eps = eps;
  return m;
}

void read_time_step_limit(const Json& config, mixers::Mamba2Config& mixer) {
  const std::string where = "config.json, time_step_limit";
  const Json* limit = config.find("time_step_limit");
  if (!limit || limit->is_null()) return;
  const Json::Array& pair = limit->as_array(where);
  if (pair.size() != 2) fail("{}: expected [lower, upper], found {} values", where, pair.size());
  mixer.dt_min = pair[0].as_double(where);
  const bool infinite =
      pair[1].is_null() || (pair[1].is_object() && pair[1].at("__float__", where) == Json("Infinity"));
  if (!infinite) mixer.dt_max = pair[1].as_double(where);
  if (!(mixer.dt_min >= 0) || (mixer.dt_max && !(*mixer.dt_max > mixer.dt_min)))
    fail("{}: expected 0 ≤ lower bound < upper bound", where);
}

RopeScaling read_rope(const Json& config, RopeBase base) {
  const std::string where = "config.json, rope_parameters";
  ConfigReader outside(config, "config.json");
  outside("rope_theta", base.theta);
  const Json* rope = nullptr;
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const Json* r = config.find(key); !rope && r && r->is_object()) rope = r;
  if (rope) {
    ConfigReader inside(*rope, where);
    inside("rope_theta", base.theta);
  }
  if (!(base.theta > 0)) fail("config.json, rope_theta: {} is not positive", base.theta);
  return read_rope_scaling(rope, base, where);
}

std::vector<bool> attention_layers(const std::vector<std::string>& layer_types, const std::string& key) {
  std::vector<bool> attention;
  for (const std::string& t : layer_types) {
    if (t != "mamba" && t != "linear_attention" && t != "attention" && t != "full_attention")
      fail("config.json, {}: '{}', expected mamba or attention", key, t);
    attention.push_back(t == "attention" || t == "full_attention");
  }
  return attention;
}

}  // namespace quern::models
