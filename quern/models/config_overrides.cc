#include "quern/models/config_overrides.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/models/checkpoint.h"

namespace quern::models {
namespace {

constexpr const char* kWhere = "config.json";
constexpr std::array<std::string_view, 2> kRotary = {"rope_theta", "partial_rotary_factor"};
// Read beside the model: by generation and by tokenizers.
constexpr std::array<std::string_view, 3> kTokenIds = {"bos_token_id", "eos_token_id", "pad_token_id"};

template <size_t N>
bool among(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void merge_into(Json& to, const std::string& key, const Json& value) {
  const Json* old = to.find(key);
  if (!old || !old->is_object() || !value.is_object()) return to.set(key, value);
  Json both = *old;
  for (const auto& [k, v] : value.as_object(key)) merge_into(both, k, v);
  to.set(key, std::move(both));
}

bool has_objects(const Json& j) {
  const auto& fields = j.as_object(kWhere);
  return std::any_of(fields.begin(), fields.end(), [](const auto& f) { return f.second.is_object(); });
}

// In rope_parameters (by kind of layer in ZAYA's files) or rope_scaling; false: this checkpoint keeps it outside.
bool set_inside_rope(Json& config, const std::string& key, const Json& value) {
  for (const char* place : {"rope_parameters", "rope_scaling"}) {
    const Json* found = config.find(place);
    if (!found || !found->is_object()) continue;
    Json rope = *found;
    if (has_objects(rope)) {
      const Json kinds = rope;
      for (const auto& [kind, of_kind] : kinds.as_object(place)) {
        if (!of_kind.is_object()) continue;
        Json changed = of_kind;
        changed.set(key, value);
        rope.set(kind, changed);
      }
    } else if (rope.find(key) || std::string_view(place) == "rope_parameters") {
      rope.set(key, value);
    } else {
      return false;
    }
    config.set(place, rope);
    if (config.find(key)) config.set(key, value);  // a copy outside says the same
    return true;
  }
  return false;
}

void apply(Json& config, const std::string& key, const Json& value) {
  const Json* current = config.find("rope_parameters");
  if (among(kRotary, key) && set_inside_rope(config, key, value)) return;
  // Where both are there, models read the current form alone.
  merge_into(config, key == "rope_scaling" && current && current->is_object() ? "rope_parameters" : key, value);
}

// Whether the family reads the field: then a value that no field has cannot be read.
bool is_read(const nn::Registry& registry, Json config, const std::string& key) {
  Json impossible = Json::object(), value = Json::object();
  impossible.set("no such value", Json::object());
  value = impossible;
  if (key == "rope_parameters" || key == "rope_scaling") {
    Json kind = Json::object();
    for (Json* rope : {&kind, &value})
      for (const char* field : {"rope_type", "rope_theta"}) rope->set(field, impossible);
    value.set("hybrid", kind);
  }
  apply(config, key, value);
  try {
    build_model(registry, config);
    return false;
  } catch (const Error&) {
    return true;
  }
}

void check_effect(const nn::Registry& registry, const Json& config, const std::string& key) {
  if (among(kTokenIds, key)) return;
  const Json all = build_model(registry, config)->config();
  const Json* rotary = all.find("use_mem_rope");
  if (rotary && !(*rotary == Json(true)) && (among(kRotary, key) || key == "rope_parameters"))
    fail("{}, {}: changing it has no effect: this model has no rotary positions (use_mem_rope is false)", kWhere,
         key);
  if (is_read(registry, config, key)) return;
  std::vector<std::string> known;
  for (const auto& [name, value] : all.as_object(kWhere))
    if (name != key) known.push_back(name);
  fail("{}, {}: changing it has no effect: this model does not read it{}", kWhere, key, did_you_mean(key, known));
}

}  // namespace

Json override_config(const nn::Registry& registry, const Json& config, const Json& changes) {
  if (changes.is_null()) return config;
  Json out = config;
  for (const auto& [key, value] : changes.as_object(kWhere)) apply(out, key, value);
  build_model(registry, out);  // what does not fit together is said before what has no effect
  for (const auto& [key, value] : changes.as_object(kWhere)) check_effect(registry, out, key);
  return out;
}

}  // namespace quern::models
