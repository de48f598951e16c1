// A family's other layout: stacked experts come together or go apart, everything else changes its name.
#include <algorithm>

#include "quern/base/config.h"
#include "quern/models/config_file.h"
#include "quern/train/reshape/reshape.h"

namespace quern::train {
namespace {

bool has(const LogicalTensors& all, const std::string& name) {
  return std::any_of(all.begin(), all.end(), [&](const LogicalTensor& t) { return t.name == name; });
}

// `config` names the model in messages.
void to_legacy(LogicalTensors& all, const models::CheckpointLayout& layout, const std::string& config,
               const std::string& where) {
  for (const LogicalTensor& t : all)
    if (!layout.rows.contains(t.name)) fail("{}: '{}' is no parameter of {}", where, t.name, config);
  // Stacks first: the names of the others do not meet theirs.
  for (const auto& [name, row] : layout.rows)
    if (!row.place.expert_tail.empty() && has(all, name))
      unstack(all, name, "expert", row.place.name + "{expert}" + row.place.expert_tail, 0, where);
  for (LogicalTensor& t : all)
    if (const auto row = layout.rows.find(t.name); row != layout.rows.end()) t.name = row->second.place.name;
}

void to_current(LogicalTensors& all, const models::CheckpointLayout& layout, const std::string& config,
                const std::string& where) {
  std::map<std::string, std::string> current;  // by legacy name
  for (const auto& [name, row] : layout.rows) {
    const models::LayoutPlace& place = row.place;
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
    else if (!layout.rows.contains(t.name))
      fail("{}: '{}' is no tensor of the legacy layout of {}", where, t.name, config);
  }
}

struct LayoutChange {
  std::string to, config;
  template <class V>
  void visit(V& v) {
    v("to", to, "legacy or current");
    v("config", config, "a config.json in the current form, or its folder");
  }
};

}  // namespace

void change_layout(LogicalTensors& all, const nn::Registry& registry, const std::string& family, const Json& fields,
                   const std::string& where) {
  LayoutChange change;
  from_json(fields, change, where, UnknownKeys::refuse);
  if (change.to != "legacy" && change.to != "current")
    fail("{}, to: expected legacy or current, found '{}'", where, change.to);
  if (change.config.empty()) fail("{}, config: expected a config.json in the current form, or its folder", where);
  std::filesystem::path file = change.config;
  if (std::filesystem::is_directory(file)) file /= "config.json";
  const auto layout = registry.layouts.make(family, models::read_config_file(file));
  (change.to == "legacy" ? to_legacy : to_current)(all, *layout, change.config, where);
}

}  // namespace quern::train
