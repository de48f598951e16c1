// The very name first, then the longest pattern.
#include "quern/serve/models/model_aliases.h"

namespace quern::serve {

std::string alias_target(const std::vector<ModelAlias>& aliases, std::string_view name) {
  const ModelAlias* best = nullptr;
  for (const ModelAlias& a : aliases) {
    if (a.name == name) return a.model;
    const std::string_view begin = std::string_view(a.name).substr(0, a.name.size() - 1);
    if (a.pattern() && name.starts_with(begin) && (!best || a.name.size() > best->name.size())) best = &a;
  }
  return best ? best->model : std::string();
}

}  // namespace quern::serve
