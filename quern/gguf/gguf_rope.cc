#include "quern/gguf/gguf_rope.h"

#include <cmath>

#include "quern/base/error.h"

namespace quern::gguf {
namespace {

// YaRN as llama.cpp computes it: the attention factor is what the file says times the usual one.
Json yarn(GgufMetadata& m, double factor) {
  if (!(factor > 0)) fail("{}: {} is not positive", m.where_own("rope.scaling.factor"), factor);
  if (const double mix = m.real("rope.scaling.yarn_ext_factor", 1); mix >= 0 && mix != 1)  // < 0: as usual
    fail("{}: {} is not supported, expected 1", m.where_own("rope.scaling.yarn_ext_factor"), mix);
  if (const double a = m.real("rope.scaling.yarn_attn_factor", 1); a != 1)
    fail("{}: {} is not supported, expected 1", m.where_own("rope.scaling.yarn_attn_factor"), a);
  Json r = Json::object();
  r.set("rope_type", "yarn");
  r.set("factor", factor);
  r.set("original_max_position_embeddings",
        m.whole("rope.scaling.original_context_length", m.whole("context_length")));
  r.set("beta_fast", m.real("rope.scaling.yarn_beta_fast", 32));
  r.set("beta_slow", m.real("rope.scaling.yarn_beta_slow", 1));
  r.set("attention_factor", m.real("rope.scaling.attn_factor", 1) * (1 + (factor > 1 ? 0.1 * std::log(factor) : 0)));
  return r;
}

}  // namespace

Json rope_parameters(GgufMetadata& m, int64_t head_dim, RotatedHead head) {
  const bool partial = head == RotatedHead::part;
  const int64_t d = m.whole("rope.dimension_count", head_dim);
  if (d != head_dim && !partial)
    fail("{}: {}, expected all {} of a head", m.where_own("rope.dimension_count"), d, head_dim);
  if (d < 2 || d % 2 || d > head_dim)
    fail("{}: {}, expected an even number up to {}", m.where_own("rope.dimension_count"), d, head_dim);
  const std::string kind = m.text(m.arch() + ".rope.scaling.type");
  const double factor = m.real("rope.scaling.factor", m.real("rope.scale_linear", 1));
  const bool factors = m.file().entries().count("rope_freqs.weight") > 0;
  if (!kind.empty() && kind != "none" && kind != "linear" && kind != "yarn")
    fail("{}: '{}' is not supported, expected none, linear or yarn", m.where_own("rope.scaling.type"), kind);
  Json r = Json::object();
  if (kind == "yarn") {
    if (factors)
      fail("{}: 'yarn' with a table of factors (rope_freqs.weight) is not supported",
           m.where_own("rope.scaling.type"));
    r = yarn(m, factor);
  } else {
    if (const double a = m.real("rope.scaling.attn_factor", 1); a != 1)
      fail("{}: {} is not supported, expected 1", m.where_own("rope.scaling.attn_factor"), a);
    const bool linear = kind != "none" && factor != 1 && factor != 0;
    r.set("rope_type", factors ? "quern_factors" : linear ? "linear" : "default");
    if (factors) {
      const Tensor t = m.file().tensor("rope_freqs.weight");
      Json list = Json::array();
      for (int64_t i = 0; i < t.size(); ++i) list.push(t.item(i) * (linear ? factor : 1));
      r.set("factors", list);
    } else if (linear) {
      r.set("factor", factor);
    }
  }
  r.set("rope_theta", m.real("rope.freq_base", 1e4));
  if (partial) r.set("partial_rotary_factor", static_cast<double>(d) / static_cast<double>(head_dim));
  return r;
}

}  // namespace quern::gguf
