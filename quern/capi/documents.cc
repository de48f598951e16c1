#include "quern/capi/documents.h"

#include "quern/base/error.h"

namespace quern::capi {

void check_rows(const RowSettings& s) {
  if (s.source.filters() != "none" || s.source.share || !s.source.score_field.empty() || !s.source.name.empty())
    fail("options: name, filter, share and score_field belong to a build; rows are read as they are");
}

DocumentBlocks::DocumentBlocks(const RowSettings& s, size_t block_bytes)
    : inputs_(corpus::find_inputs(s.source.paths, s.source.form)),
      blocks_(inputs_, s.read.policy(), block_bytes),
      documents_(inputs_, {s.source.fields()}, s.read.policy()) {}

bool DocumentBlocks::next(const std::function<void(const corpus::DocumentView&)>& take) {
  bool any = false;
  do {
    if (!blocks_.next(block_)) {
      corpus::refuse_when_all_is_lost(inputs_, counts_, blocks_.damaged());
      return false;
    }
    documents_.read(
        block_, counts_,
        [&](const corpus::DocumentView& d) {
          if (d.label_passes) any = true, take(d);
        },
        [](uint64_t, corpus::RecordProblem) {});
  } while (!any);
  return true;
}

}  // namespace quern::capi
