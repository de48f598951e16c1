#include "quern/models/hybrid/hybrid_config.h"

#include "quern/base/config.h"

namespace quern::models {
namespace {

constexpr const char* kWhere = "config.json";

}  // namespace

HybridConfig HybridConfig::from_hf(const Json& j) {
  HybridConfig c;
  from_json(j, c, kWhere);
  c.source = j;
  auto bounds = [](const char* key, int64_t v, int64_t maximum) {
    if (v < 1 || v > maximum) fail("{}, {}: {} is outside 1 … {}", kWhere, key, v, maximum);
  };
  bounds("vocab_size", c.vocab_size, 1 << 24);
  bounds("hidden_size", c.hidden_size, 1 << 20);
  bounds("intermediate_size", c.intermediate_size, 1 << 22);
  bounds("max_position_embeddings", c.max_position_embeddings, int64_t{1} << 31);
  bounds("layers", static_cast<int64_t>(c.layers.size()), 4096);
  if (!c.mixers.is_object()) fail("{}, mixers: expected an object of mixers by name", kWhere);
  std::vector<std::string> names;
  for (const auto& [name, fields] : c.mixers.as_object(std::string(kWhere) + ", mixers")) {
    names.push_back(name);
    c.mixer(name);
  }
  for (const std::string& l : c.layers)
    if (!c.mixers.find(l))
      fail("{}, layers: '{}' is not one of the mixers{} (there are: {})", kWhere, l, did_you_mean(l, names),
           fmt::join(names, ", "));
  return c;
}

Json HybridConfig::to_hf() const {
  Json j = source.is_object() ? source : Json::object();
  write_json(j, *this);
  return j;
}

bool HybridConfig::rotary() const {
  for (const std::string& l : layers)
    if (const Json* dims = mixers.find(l)->find("rotary_dims"); dims && !(*dims == Json(0))) return true;
  return false;
}

HybridConfig::Named HybridConfig::mixer(const std::string& name) const {
  const std::string where = fmt::format("{}, mixers, {}", kWhere, name);
  Json fields = mixers.at(name, where);
  Named n;
  n.type = fields.at("type", where).as_string(where + ", type");
  fields.erase("type");
  if (!fields.find("width")) fields.set("width", hidden_size);
  if (const int64_t width = fields.at("width", where).as_int(where + ", width"); width != hidden_size)
    fail("{}, width: {}, expected hidden_size {}", where, width, hidden_size);
  n.fields = std::move(fields);
  return n;
}

}  // namespace quern::models
