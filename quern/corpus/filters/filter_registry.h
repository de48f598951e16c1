// Filters that come as plug-ins: a folder quern/corpus/filters/NAME/, or one outside the tree (QUERN_EXTRA_ROOMS), adds
// its filters through register_NAME(FilterRegistry&). See docs/corpus/adding-a-filter.md.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "quern/corpus/filters/filter.h"

namespace quern::corpus {

struct FilterOptions {
  std::string lists;      // folder of word lists that the user names; empty: none
  std::string arguments;  // what stands behind the name and a colon, NAME:ARGUMENTS; empty: nothing
};

struct NamedFilter {
  std::string name, summary;
  std::function<FilterMaker(const FilterOptions&)> make;
};

class FilterRegistry {
 public:
  void add(std::string name, std::string summary, std::function<FilterMaker(const FilterOptions&)> make);
  const NamedFilter* find(const std::string& name) const;  // null: no such filter
  const std::vector<NamedFilter>& filters() const { return filters_; }

 private:
  std::vector<NamedFilter> filters_;
};

// Calls register_NAME of every plug-in folder; written by cmake/plugins.cmake.
void register_filter_plugins(FilterRegistry& r);
const FilterRegistry& plugin_filters();  // of this build

}  // namespace quern::corpus
