// The very name first, then the longest pattern.
#include "quern/serve/models/model_aliases.h"

namespace quern::serve {

std::string alias_target(const ModelAliases& aliases, std::string_view name) {
  const std::string *best = nullptr, *target = nullptr;
  for (const auto& [alias, model] : aliases) {
    if (alias == name) return model;
    if (!is_pattern(alias) || !name.starts_with(std::string_view(alias).substr(0, alias.size() - 1))) continue;
    if (!best || alias.size() > best->size()) best = &alias, target = &model;
  }
  return target ? *target : std::string();
}

}  // namespace quern::serve
