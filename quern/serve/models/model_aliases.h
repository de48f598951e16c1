// Other names of served models, for clients that ask for a name of their own.
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace quern::serve {

// From a name to a model; a name that ends in '*' stands for every name that begins so.
using ModelAliases = std::map<std::string, std::string>;
inline bool is_pattern(std::string_view alias) { return alias.ends_with('*'); }

// The model that a name stands for, by the alias of this very name, else by the longest pattern; empty: none.
std::string alias_target(const ModelAliases& aliases, std::string_view name);

}  // namespace quern::serve
