// Filters by name, chains of filters, and reports of their rules.
#pragma once
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/corpus/filters/filter.h"

namespace quern::corpus {

std::vector<std::string> filter_names();  // without those of plug-ins (filter_registry.h)
// "none": an empty maker. `lists`: folder of word lists, for a filter that counts words.
FilterMaker find_filter(const std::string& name, const std::string& lists = "");

// The contents of the models and word lists that the filter reads, in words for a run's identity: their paths are in its
// name and in `lists`.
std::string filter_models_text(const std::string& name, const std::string& lists = "");

// The rules that a document fails, ["rule",…].
std::string failing_json(const FilterResult& r, const std::vector<std::string>& rules);
Json rules_json(const std::vector<std::string>& rules, const std::vector<uint64_t>& first,
                const std::vector<uint64_t>& any);

}  // namespace quern::corpus
