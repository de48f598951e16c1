// Other names of served models, for clients that ask for a name of their own.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace quern::serve {

struct ModelAlias {
  std::string name, model;  // a name that ends in '*': every name that begins so
  bool pattern() const { return name.ends_with('*'); }
};

// The model that a name stands for, by the alias of this very name, else by the longest pattern; empty: none.
std::string alias_target(const std::vector<ModelAlias>& aliases, std::string_view name);

}  // namespace quern::serve
