#include "quern/models/context/context_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "quern/base/error.h"
#include "quern/models/config_overrides.h"
#include "quern/models/context_length.h"

namespace quern::models {
namespace {

constexpr const char* kWhere = "config.json";
constexpr std::array<std::string_view, 4> kScaled = {"linear", "dynamic", "yarn", "llama3"};

struct Scaling {
  std::string type = "none";
  double factor = 1;
};

// "none" or "TYPE:FACTOR"; `name` is that of the setting.
Scaling parse_scaling(const std::string& text, const char* name = "rope_scaling") {
  const size_t colon = text.find(':');
  Scaling s{.type = text.substr(0, colon)};
  if (text == "none") return s;
  if (std::find(kScaled.begin(), kScaled.end(), s.type) == kScaled.end())
    fail("{} '{}': expected none, linear:FACTOR, dynamic:FACTOR, yarn:FACTOR or llama3:FACTOR", name, text);
  if (colon == text.npos) fail("{} '{}': the factor is missing, for example {}:4", name, text, s.type);
  const char* end = text.data() + text.size();
  const auto [stop, bad] = std::from_chars(text.data() + colon + 1, end, s.factor);
  if (bad != std::errc() || stop != end || !(s.factor > 1 && s.factor <= 1e6))
    fail("{} '{}': expected a factor above 1, up to 1000000", name, text);
  return s;
}

// Where a file keeps its scaling; of the two forms models read the current one first.
const char* place_of(const Json& config) {
  for (const char* key : {"rope_parameters", "rope_scaling"})
    if (const Json* r = config.find(key); r && r->is_object()) return key;
  return "rope_scaling";
}

std::string type_of(const Json& rope) {
  for (const char* key : {"rope_type", "type"})
    if (const Json* t = rope.find(key); t && !t->is_null()) return t->as_string("rope_type");
  return "default";
}

std::optional<double> number(const Json& j, const char* key) {
  const Json* v = j.find(key);
  if (!v || v->is_null()) return std::nullopt;
  return v->as_double(fmt::format("{}, {}", kWhere, key));
}

// A checkpoint, and what was asked of it.
struct Change {
  const nn::Registry& registry;
  Json config;
  std::vector<std::string>& notes;
  std::string family;
  int64_t trained = 0, own = 0;  // max_position_embeddings; what the checkpoint accepts
  double scaled = 0;             // length that the asked scaling is for

  Change(const nn::Registry& r, const Json& c, std::vector<std::string>& n) : registry(r), config(c), notes(n) {
    config.erase("quern_context");
    const std::unique_ptr<Model> model = build_model(registry, config);
    family = model->family(), trained = trained_length(*model), own = model->max_positions();
  }

  bool rotary() const { return own < kAnyLength; }
  void need_positions(const char* setting) const {
    if (!rotary())
      fail("{}: this model ({}) has no rotary positions to change; it takes any length as it is", setting, family);
  }

  void set_theta(double theta) {
    need_positions("rope_theta");
    const Json before = config;
    if (family == "hybrid") {
      Json mixers = config.at("mixers", kWhere);
      for (auto& [name, fields] : mixers.members())
        if (const Json* dims = fields.find("rotary_dims"); dims && !(*dims == Json(0)))
          fields.set("rope_theta", theta);
      config.set("mixers", mixers);
    } else {
      Json wanted = Json::object();
      wanted.set("rope_theta", theta);
      config = override_config(registry, config, wanted);
    }
    if (same(before, config))
      notes.push_back(fmt::format("rope_theta {} changes nothing: it is the model's own", theta));
  }

  // The original length of the training, as the scaling asks for it.
  double original_length(const Json& rope, const std::string& type) const {
    const auto length = static_cast<double>(trained);
    const std::string old = type_of(rope);
    if (type == "dynamic") return length;
    if (old == "linear") return length / std::max(1.0, number(rope, "factor").value_or(1));
    if (old != "yarn" && old != "llama3") return length;
    if (const auto outside = number(config, "original_max_position_embeddings")) return *outside;
    return number(rope, "original_max_position_embeddings").value_or(length);
  }

  void set_scaling(const Scaling& s) {
    need_positions("rope_scaling");
    if (family == "zaya" || family == "hybrid")
      fail("rope_scaling: models of family {} have no scaled rotary positions; rope_theta can be changed", family);
    const char* place = place_of(config);
    const Json* found = config.find(place);
    const Json old = found && found->is_object() ? *found : Json::object();
    const std::string type = s.type == "none" ? "default" : s.type;
    Json rope = Json::object();
    rope.set("rope_type", type);
    for (const char* key : {"rope_theta", "partial_rotary_factor"})
      if (const Json* v = old.find(key)) rope.set(key, *v);
    if (type != "default") {
      const double original = original_length(old, type);
      scaled = original * s.factor;
      rope.set("factor", s.factor);
      if (type == "yarn" || type == "llama3")
        rope.set("original_max_position_embeddings", static_cast<int64_t>(std::llround(original)));
      if (type == "llama3") rope.set("low_freq_factor", 1.0), rope.set("high_freq_factor", 4.0);
      // What the checkpoint says about the same kind of scaling stays, but for what follows from the factor.
      if (type_of(old) == type)
        for (const char* key : {"low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "mscale",
                                "mscale_all_dim", "truncate"})
          if (const Json* v = old.find(key)) rope.set(key, *v);
    }
    const bool none_before = type_of(old) == "default";
    if (none_before && type == "default") {
      notes.emplace_back("rope_scaling none changes nothing: this model's rotary positions are not scaled");
      return;
    }
    if (type_of(old) == type && number(old, "factor") == s.factor)
      return notes.push_back(
          fmt::format("rope_scaling {}:{} changes nothing: it is the model's own", s.type, s.factor));
    config.erase(place);
    Json wanted = Json::object();
    wanted.set(place, rope);
    config = override_config(registry, config, wanted);
  }

  // After both: the limit that the model is built with.
  void set_length(std::optional<int64_t> wanted, bool at_least) {
    int64_t natural = rotary() ? build_model(registry, config)->max_positions() : trained;
    natural = std::max(natural, static_cast<int64_t>(std::min(scaled, static_cast<double>(kAnyLength - 1))));
    if (!wanted || (at_least && *wanted <= natural)) {
      if (scaled > 0) config.set("quern_context", natural);
      return;
    }
    config.set("quern_context", *wanted);
    if (rotary() && *wanted == natural)
      notes.push_back(
          fmt::format("context {} changes nothing: this model accepts {} tokens as it is", *wanted, natural));
    if (*wanted > natural)
      notes.push_back(fmt::format("a context of {} tokens is beyond the {} that this model was trained {}", *wanted,
                                  natural, scaled > 0 ? "and scaled for" : "for"));
  }

 private:
  bool same(const Json& a, const Json& b) const {
    return build_model(registry, a)->config() == build_model(registry, b)->config();
  }
};

}  // namespace

void ContextSettings::check(const char* scaling_name) const {
  if (rope_scaling) parse_scaling(*rope_scaling, scaling_name);
  if (context && (*context < 1 || *context >= kAnyLength))
    fail("context: {} is outside 1 to {}", *context, kAnyLength - 1);
  if (rope_theta && (!(*rope_theta > 0) || !std::isfinite(*rope_theta)))
    fail("rope_theta: {} is not above 0", *rope_theta);
}

std::string ContextSettings::rope_name() const {
  std::string name;
  if (rope_scaling) name += ", rope " + *rope_scaling;
  if (rope_theta) name += fmt::format(", theta {}", *rope_theta);
  return name;
}

Json with_context(const nn::Registry& registry, const Json& config, const ContextSettings& settings,
                  std::vector<std::string>& notes) {
  settings.check();
  Change change(registry, config, notes);
  if (settings.rope_theta) change.set_theta(*settings.rope_theta);
  if (settings.rope_scaling) change.set_scaling(parse_scaling(*settings.rope_scaling));
  change.set_length(settings.context, settings.at_least);
  return std::move(change.config);
}

LoadOptions with_context(const nn::Registry& registry, LoadOptions options, const ContextSettings& settings) {
  settings.check();
  if (settings.any())
    options.config_change = [&registry, settings](const Json& config, std::vector<std::string>& notes) {
      return with_context(registry, config, settings, notes);
    };
  return options;
}

}  // namespace quern::models
