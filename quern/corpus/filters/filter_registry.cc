#include "quern/corpus/filters/filter_registry.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::corpus {

void FilterRegistry::add(std::string name, std::string summary,
                         std::function<FilterMaker(const FilterOptions&)> make) {
  QUERN_CHECK(!name.empty() && name.find_first_of("+: ") == name.npos,
              "filter '{}': expected a name without +, : and spaces", name);
  QUERN_CHECK(!find(name), "filter '{}' registered twice", name);
  filters_.push_back({std::move(name), std::move(summary), std::move(make)});
}

const NamedFilter* FilterRegistry::find(const std::string& name) const {
  const auto at = std::ranges::find(filters_, name, &NamedFilter::name);
  return at == filters_.end() ? nullptr : &*at;
}

const FilterRegistry& plugin_filters() {
  static const FilterRegistry registry = [] {
    FilterRegistry r;
    register_filter_plugins(r);
    return r;
  }();
  return registry;
}

}  // namespace quern::corpus
