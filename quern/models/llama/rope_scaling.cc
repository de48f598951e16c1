#include "quern/models/llama/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "quern/base/config.h"

namespace quern::models {
namespace {

struct RopeSettings {
  std::optional<double> factor, low_freq_factor, high_freq_factor, original_max_position_embeddings, attention_factor,
      beta_fast, beta_slow, mscale, mscale_all_dim, partial_rotary_factor;
  bool truncate = true, factor_is_null = false;  // null and absent differ: yarn computes the one
  std::vector<double> factors;

  template <class V>
  void visit(V& v) {
    v("factor", factor, "how many times longer the context becomes");
    v("low_freq_factor", low_freq_factor, "llama3: turns of the original context below which a frequency is divided");
    v("high_freq_factor", high_freq_factor, "llama3: turns above which it is kept");
    v("original_max_position_embeddings", original_max_position_embeddings, "context of the training");
    v("attention_factor", attention_factor, "yarn: magnitude of rotated queries and keys");
    v("beta_fast", beta_fast, "yarn: turns above which a frequency is kept");
    v("beta_slow", beta_slow, "yarn: turns below which it is divided");
    v("mscale", mscale, "yarn: weight of log(factor) in the attention factor");
    v("mscale_all_dim", mscale_all_dim, "yarn: the same of what it is divided by");
    v("partial_rotary_factor", partial_rotary_factor, "share of a head that is rotated");
    v("truncate", truncate, "yarn: whether the ramp begins and ends at whole dimensions");
    v("factors", factors, "quern_factors: what each frequency is divided by");
  }
};

std::string rope_type(const Json& r, const std::string& where) {
  for (const char* key : {"rope_type", "type"})
    if (const Json* t = r.find(key); t && !t->is_null()) return t->as_string(fmt::format("{}, {}", where, key));
  return "default";
}

// One scaling at work: what it reads, and where it says that something is wrong.
struct Scaled {
  const RopeBase& base;
  const RopeSettings& s;
  const std::string& where;
  RopeScaling out;

  double positive(const char* key, double v) const {
    if (!(v > 0) || !std::isfinite(v)) fail("{}, {}: {} is not positive", where, key, v);
    return v;
  }
  double required(const char* key, std::optional<double> v) const {
    if (!v) fail("{}, {} is missing", where, key);
    return positive(key, *v);
  }
  double original_context() const {
    if (base.original_context)
      return positive("original_max_position_embeddings", static_cast<double>(*base.original_context));
    return positive("original_max_position_embeddings",
                    s.original_max_position_embeddings.value_or(static_cast<double>(base.context)));
  }

  void divide_all() {
    for (double& w : out.config.inv_freq) w /= required("factor", s.factor);
  }

  void divide_each() {
    std::vector<double>& f = out.config.inv_freq;
    if (s.factors.size() != f.size())
      fail("{}, factors: {} of them, expected {} (half of head_dim)", where, s.factors.size(), f.size());
    for (size_t i = 0; i < f.size(); ++i) f[i] /= positive("factors", s.factors[i]);
  }

  void llama3() {
    const double factor = required("factor", s.factor), length = original_context();
    const double low = required("low_freq_factor", s.low_freq_factor);
    const double high = required("high_freq_factor", s.high_freq_factor);
    if (!(high > low)) fail("{}: expected 0 < low_freq_factor {} < high_freq_factor {}", where, low, high);
    for (double& w : out.config.inv_freq) {
      const double turns = length * w / (2 * std::numbers::pi);  // over the original context
      const double keep = std::clamp((turns - low) / (high - low), 0.0, 1.0);
      w = (1 - keep) * w / factor + keep * w;
    }
  }

  void yarn() {
    const double length = original_context();
    const double factor = s.factor_is_null ? positive("factor", static_cast<double>(base.context) / length)
                                           : required("factor", s.factor);
    // 0 counts as absent, as in transformers.
    const double fast = s.beta_fast.value_or(0) != 0 ? *s.beta_fast : 32;
    const double slow = s.beta_slow.value_or(0) != 0 ? *s.beta_slow : 1;
    if (!(slow > 0) || !(fast >= slow)) fail("{}: expected 0 < beta_slow {} <= beta_fast {}", where, slow, fast);

    if (!(base.theta > 1)) fail("{}, rope_theta: {} is not above 1, as 'yarn' needs it", where, base.theta);
    const double d = static_cast<double>(base.rotary_dims);
    // Dimension whose frequency turns so many times over the original context.
    auto dimension = [&](double turns) {
      return d * std::log(length / (turns * 2 * std::numbers::pi)) / (2 * std::log(base.theta));
    };
    double low = dimension(fast), high = dimension(slow);
    if (s.truncate) low = std::floor(low), high = std::ceil(high);
    low = std::max(low, 0.0), high = std::min(high, d - 1);
    if (low == high) high += 0.001;
    std::vector<double>& f = out.config.inv_freq;
    for (size_t i = 0; i < f.size(); ++i) {
      const double divided = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      f[i] = f[i] / factor * divided + f[i] * (1 - divided);
    }

    auto growth = [&](double weight) { return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1; };
    if (s.attention_factor)
      out.config.magnitude = positive("attention_factor", *s.attention_factor);
    else if (s.mscale.value_or(0) != 0 && s.mscale_all_dim.value_or(0) != 0)
      out.config.magnitude = positive("mscale", growth(*s.mscale) / growth(*s.mscale_all_dim));
    else
      out.config.magnitude = growth(1);
    extend(length * factor);
  }

  void dynamic() {
    const double factor = required("factor", s.factor);
    if (base.rotary_dims < 4)
      fail("{}, rope_type: 'dynamic' needs heads of at least 4, head_dim is {}", where, base.rotary_dims);
    out.config.dynamic = mixers::DynamicNtk{.factor = factor, .length = base.context};
    extend(static_cast<double>(base.context) * factor);
  }

  void extend(double tokens) {
    constexpr double kMaximum = 2147483648.0;  // positions are 32-bit
    out.context = std::max(out.context, static_cast<int64_t>(std::min(tokens, kMaximum)));
  }
};

}  // namespace

RopeScaling read_rope_scaling(const Json* rope, const RopeBase& base, const std::string& where) {
  RopeSettings settings;
  Scaled scaled{base, settings, where, {}};
  scaled.out.config.theta = base.theta;
  scaled.out.config.inv_freq = kernels::rope_inv_freq(base.rotary_dims, base.theta);
  scaled.out.context = base.context;
  const std::string type = rope ? rope_type(*rope, where) : "default";
  if (type == "default") return scaled.out;
  constexpr std::pair<std::string_view, void (Scaled::*)()> kTypes[] = {{"linear", &Scaled::divide_all},
                                                                        {"llama3", &Scaled::llama3},
                                                                        {"yarn", &Scaled::yarn},
                                                                        {"dynamic", &Scaled::dynamic},
                                                                        {"quern_factors", &Scaled::divide_each}};
  auto known = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& t) { return t.first == type; });
  if (known == std::end(kTypes))
    fail("{}, rope_type: '{}' is not supported, expected default, linear, llama3, yarn, dynamic or quern_factors",
         where, type);
  ConfigReader read(*rope, where);
  settings.visit(read);
  const Json* factor = rope->find("factor");
  settings.factor_is_null = factor && factor->is_null();
  if (settings.partial_rotary_factor.value_or(1) != 1)
    fail("{}, partial_rotary_factor: {} is not supported, expected 1", where, *settings.partial_rotary_factor);
  (scaled.*known->second)();
  return scaled.out;
}

}  // namespace quern::models
