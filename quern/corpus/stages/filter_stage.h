// Filtering as a separate stage: passed documents as part-*.jsonl.zst, removed ones on request as reject-*.jsonl.zst,
// reasons on request as reasons.jsonl ({"row", "id", "failing"} per removed document). A killed run can be resumed.
// Without a filter, all documents pass: inputs of any form become JSON lines.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/filters/filter.h"
#include "quern/corpus/run/stage_run.h"
#include "quern/corpus/stages/row_columns.h"

namespace quern::corpus {

struct FilterRun {
  FilterMaker make;
  std::string what;  // the filter in words that change with what it does
  ScanOptions scan;
  bool rejects = false, reasons = false;
  bool keep_all = false;          // the filter's rules are told by the columns, and nothing is removed or changed
  RowColumnsMaker columns = {};   // added to kept rows
  std::string source_field = {};  // added to kept and removed rows: the name of their source; empty: not
  StageOutput to;
};

struct FilterReport {
  ScanReport scan;
  std::vector<std::string> rules, idle_rules;  // idle: without the list that they look in
  std::vector<uint64_t> rule_first, rule_any;
  uint64_t kept = 0, rejected = 0, changed = 0, kept_bytes = 0, bytes_out = 0;
  uint64_t own_members = 0;  // kept rows with a member of the name of a column, which stays
  uint64_t labeled = 0;      // kept rows that a side file had a row for
  double seconds = 0;        // of this process
  ResumeInfo went_on;
  template <class V>
  void visit(V& v) {  // what is counted on the way
    v("rule_first", rule_first), v("rule_any", rule_any), v("kept", kept), v("rejected", rejected);
    v("changed", changed), v("kept_bytes", kept_bytes), v("own_members", own_members), v("labeled", labeled);
  }
  Json json() const;
};

// finish(report): the last thing before the run is forgotten.
FilterReport filter_corpus(const Inputs& inputs, const FilterRun& run, const ScanProgress& progress = {},
                           const std::function<void(const FilterReport&)>& finish = {});

FilterReport empty_filter_report(const FilterRun& run);  // with the names of its rules
void add_counts(const FilterReport& part, FilterReport& all);
// All that decides what the run writes, the inputs apart.
std::string filter_identity(const FilterRun& run, const FilterReport& report);

// Where rows go, a block at a time and in order.
struct FilterSinks {
  std::function<void(std::string_view frame, uint64_t unpacked)> kept, rejected;  // an empty frame is nothing
  std::function<void(std::string_view lines)> reasons;
};
// The scan alone, which adds to `total`.
void filter_frames(const Inputs& inputs, const FilterRun& run, FilterReport& total, const FilterSinks& sinks,
                   const ScanCallbacks& callbacks);

// The same without a folder: passed documents as lines, in order. Nothing is saved on the way.
FilterReport filter_lines(const Inputs& inputs, const FilterRun& run,
                          const std::function<void(std::string_view)>& put, const ScanProgress& progress = {});

}  // namespace quern::corpus
