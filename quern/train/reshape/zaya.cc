// Converts between ZAYA's two layouts with the model's own table of names: the parameters of a model built from the
// configuration have the current names, and zaya_legacy_place locates each in the other layout.
#include <map>

#include "quern/models/zaya/zaya_model.h"
#include "quern/models/zaya/zaya_names.h"
#include "quern/train/reshape/reshape.h"

namespace quern {
namespace {

struct Row {
  LegacyPlace legacy;
  bool optional;
};

std::map<std::string, Row> names_of(const std::filesystem::path& config, const std::string& where) {
  if (config.empty()) fail("{}, config: expected a config.json in the current form, or its folder", where);
  const auto file = std::filesystem::is_directory(config) ? config / "config.json" : config;
  const ZayaConfig c = ZayaConfig::from_hf(Json::read(file), nullptr);
  ZayaModel model(c);
  std::map<std::string, Row> rows;
  model.visit("", [&](const std::string& name, Parameter& p) {
    rows[name] = {zaya_legacy_place(name, c.num_hidden_layers), p.optional};
  });
  return rows;
}

bool has(const LogicalTensors& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const LogicalTensor& t) { return t.name == name; });
}

}  // namespace

void zaya_to_legacy(LogicalTensors& all, const std::filesystem::path& config, const std::string& where) {
  const std::map<std::string, Row> rows = names_of(config, where);
  for (const LogicalTensor& t : all)
    if (!rows.contains(t.name)) fail("{}: '{}' is no parameter of {}", where, t.name, config.string());
  // Stacks first: the names of the others do not meet theirs.
  for (const auto& [name, row] : rows)
    if (!row.legacy.expert_tail.empty() && has(all, name))
      unstack(all, name, "expert", row.legacy.name + "{expert}" + row.legacy.expert_tail, 0, where);
  for (LogicalTensor& t : all)
    if (const auto row = rows.find(t.name); row != rows.end()) t.name = row->second.legacy.name;
}

void zaya_to_current(LogicalTensors& all, const std::filesystem::path& config, const std::string& where) {
  const std::map<std::string, Row> rows = names_of(config, where);
  std::map<std::string, std::string> current;  // by legacy name
  for (const auto& [name, row] : rows) {
    const LegacyPlace& place = row.legacy;
    if (place.expert_tail.empty()) {
      current[place.name] = name;
      if (!row.optional && !has(all, place.name)) fail("{}: tensor '{}' is missing", where, place.name);
      continue;
    }
    if (row.optional && !has(all, place.name + "0" + place.expert_tail)) continue;
    stack(all, place.name + "{expert}" + place.expert_tail, "expert", name, 0, where);
  }
  for (LogicalTensor& t : all) {
    if (const auto row = current.find(t.name); row != current.end())
      t.name = row->second;
    else if (!rows.contains(t.name))
      fail("{}: '{}' is no tensor of the legacy layout of {}", where, t.name, config.string());
  }
}

}  // namespace quern
