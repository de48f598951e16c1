// What the families share: embedding, head and last norm, rotary settings, Mamba-2.
#include <cmath>
#include <optional>

#include "quern/base/config.h"
#include "quern/gguf/export/gguf_families.h"

namespace quern::gguf {

void put_ends(GgufSheet& s, const std::string& final_norm) {
  s.take("model.embed_tokens.weight", "token_embd.weight");
  if (s.has("lm_head.weight")) s.take("lm_head.weight", "output.weight");
  s.take(final_norm, "output_norm.weight");
}

namespace {

// YaRN as the model computes it, in the file's terms; refused where other programs would compute something else.
void put_yarn(GgufSheet& s, const models::RopeScaling& rope, const Json& r, const Json& config, double theta,
              int64_t rotary_dims) {
  const int64_t context = config.at("max_position_embeddings").as_int();
  std::optional<int64_t> inside, outside;
  std::optional<double> given, fast, slow;
  ConfigReader read(r, "config.json, rope_parameters");
  read("original_max_position_embeddings", inside), read("factor", given);
  read("beta_fast", fast), read("beta_slow", slow);
  ConfigReader(config, "config.json")("original_max_position_embeddings", outside);
  if (s.arch().starts_with("granite") || s.arch() == "falcon-h1") outside.reset();  // as their models read it
  const int64_t original = outside.value_or(inside.value_or(context));
  const double factor = given.value_or(static_cast<double>(context) / static_cast<double>(original));
  const double usual = 1 + (factor > 1 ? 0.1 * std::log(factor) : 0);
  if (fast.value_or(0) == 0) fast = 32;  // 0 counts as absent
  if (slow.value_or(0) == 0) slow = 1;
  Json written = Json::object();
  written.set("rope_type", "yarn"), written.set("factor", factor);
  written.set("original_max_position_embeddings", original);
  written.set("beta_fast", *fast), written.set("beta_slow", *slow);
  const models::RopeScaling again = models::read_rope_scaling(
      &written, {.rotary_dims = rotary_dims, .theta = theta, .context = context}, "config.json, rope_parameters");
  for (size_t i = 0; i < again.config.inv_freq.size(); ++i)
    if (const double w = rope.config.inv_freq[i]; std::abs(again.config.inv_freq[i] - w) > 1e-9 * w)
      fail("config.json, rope_parameters: 'yarn' with these settings (truncate?) has no place in a GGUF file");
  s.own("rope.scaling.type", std::string("yarn"));
  s.real("rope.scaling.factor", factor);
  s.count("rope.scaling.original_context_length", original);
  if (*fast != 32) s.real("rope.scaling.yarn_beta_fast", *fast);
  if (*slow != 1) s.real("rope.scaling.yarn_beta_slow", *slow);
  if (std::abs(rope.config.magnitude - usual) > 1e-6)
    s.real("rope.scaling.attn_factor", rope.config.magnitude / usual);
}

}  // namespace

// Linear scaling and YaRN have keys of their own; whatever else divides the frequencies becomes a table of factors.
void put_rope(GgufSheet& s, const models::RopeScaling& rope, const Json& config, double theta, int64_t rotary_dims) {
  s.real("rope.freq_base", theta);
  s.count("rope.dimension_count", rotary_dims);
  const Json* r = nullptr;
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const Json* found = config.find(key); !r && found && found->is_object()) r = found;
  std::string type = "default";
  double factor = 1;
  if (r) {
    ConfigReader read(*r, "config.json, rope_parameters");
    read("type", type), read("rope_type", type), read("factor", factor);
  }
  if (rope.config.dynamic)
    fail("config.json, rope_type: 'dynamic' has no place in a GGUF file, expected default, linear, llama3 or yarn");
  if (type == "yarn") return put_yarn(s, rope, *r, config, theta, rotary_dims);
  if (type == "linear") {
    s.own("rope.scaling.type", std::string("linear"));
    s.real("rope.scaling.factor", factor);
  } else if (type != "default") {
    if (s.arch() != "llama" && !s.arch().starts_with("granite"))  // llama.cpp refuses a tensor it does not know
      fail(
          "config.json, rope_type: '{}' has no place in a GGUF file of architecture {}, expected default, linear or "
          "yarn",
          type, s.arch());
    const std::vector<double> plain = kernels::rope_inv_freq(rotary_dims, theta);
    Tensor factors = Tensor::empty({static_cast<int64_t>(plain.size())}, DType::f32);
    for (size_t i = 0; i < plain.size(); ++i)
      factors.data<float>()[i] = static_cast<float>(plain[i] / rope.config.inv_freq[i]);
    s.add("rope_freqs.weight", factors);
  }
}

void put_ssm(GgufSheet& s, const mixers::Mamba2Config& m) {
  if (m.dt_min != 0 || m.dt_max)
    fail("config.json, time_step_limit: bounds of the time step have no place in a GGUF file");
  if (!m.conv_bias) fail("config.json: a convolution without bias has no place in a GGUF file that llama.cpp opens");
  if (m.proj_bias) fail("config.json: biases of the Mamba projections have no place in a GGUF file");
  s.count("ssm.conv_kernel", m.taps);
  s.count("ssm.inner_size", m.inner());
  s.count("ssm.state_size", m.n_state);
  s.count("ssm.time_step_rank", m.n_head);
  s.count("ssm.group_count", m.n_group);
}

void put_mamba2(GgufSheet& s, const mixers::Mamba2Config& m, const std::string& hf, const std::string& blk, double in,
                double out) {
  auto shaped = [&](const char* ours, const char* theirs, Shape shape) {
    s.take(hf + ours, blk + theirs, shape, [shape](const Tensor& t) { return t.reshape(shape); });
  };
  const int64_t GN = m.n_group * m.n_state;
  const std::vector<double> f = m.factors.empty() ? std::vector<double>(5, 1) : m.factors;
  s.take_scaled(
      hf + "in_proj.weight", blk + "ssm_in.weight",
      {{m.inner(), in * f[0]}, {m.inner(), in * f[1]}, {GN, in * f[2]}, {GN, in * f[3]}, {m.n_head, in * f[4]}});
  shaped("conv1d.weight", "ssm_conv1d.weight", {m.channels(), m.taps});
  s.take(hf + "conv1d.bias", blk + "ssm_conv1d.bias");
  s.take(hf + "dt_bias", blk + "ssm_dt.bias");
  shaped("D", "ssm_d", {m.n_head, 1});
  s.take(hf + "A_log", blk + "ssm_a", {m.n_head, 1}, [n = m.n_head](const Tensor& t) {
    Tensor a = t.to(DType::f32).reshape({n, 1}).clone();
    for (float& x : a.span<float>()) x = -std::exp(x);
    return a;
  });
  if (s.has(hf + "norm.weight")) shaped("norm.weight", "ssm_norm.weight", {m.n_group, m.inner() / m.n_group});
  s.take_scaled(hf + "out_proj.weight", blk + "ssm_out.weight", {{m.width, out}});
}

}  // namespace quern::gguf
