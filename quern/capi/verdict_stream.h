// What a filter says of the texts of a table: an Arrow stream with one row for each of the table's, in its batches.
#pragma once
#include <memory>
#include <string>

#include "quern/capi/arrow_in.h"
#include "quern/capi/arrow_out.h"

namespace quern::capi {

struct VerdictSettings {
  std::string filter, lists, column;
  template <class V>
  void visit(V& v) {
    v("filter", filter, "filters by name, joined by +, as `quern corpus filter` has them");
    v("lists", lists, "folder of word lists, for a filter that counts words");
    v("column", column, "column with the texts; of several columns, text by default");
  }
};

// Columns: keep, failing (the rules that reject), text (as the filter leaves it). Takes the stream over.
std::unique_ptr<RecordSource> verdict_stream(ArrowArrayStream* texts, const VerdictSettings& s);

}  // namespace quern::capi
