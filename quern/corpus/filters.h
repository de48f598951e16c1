// The filters by name, and filtering as a stage of its own: kept documents as part-*.jsonl.zst, the others on request
// as reject-*.jsonl.zst, reasons on request as reasons.jsonl ({"row", "id", "failing"} of every rejected document).
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quern/corpus/filter.h"
#include "quern/corpus/ingest.h"

namespace quern::corpus {

std::vector<std::string> filter_names();
// "none": an empty maker. `lists`: folder of word lists, for a filter that counts words.
FilterMaker find_filter(const std::string& name, const std::string& lists = "");

struct FilterRun {
  FieldMap fields;
  ReadPolicy read;
  bool rejects = false, reasons = false;
  int level = 3;
  uint64_t shard_bytes = uint64_t{1} << 30;
};

struct FilterReport {
  ReadCounts read;
  std::vector<std::string> damaged, rules;
  std::vector<uint64_t> rule_first, rule_any;
  uint64_t kept = 0, rejected = 0, changed = 0, kept_bytes = 0, bytes_out = 0;
  double seconds = 0;
  Json json() const;
};
Json rules_json(const std::vector<std::string>& rules, const std::vector<uint64_t>& first,
                const std::vector<uint64_t>& any);

FilterReport filter_corpus(const Inputs& inputs, const FilterRun& run, const FilterMaker& make,
                           const std::filesystem::path& out,
                           const std::function<void(uint64_t bytes, uint64_t total)>& progress = {});

}  // namespace quern::corpus
