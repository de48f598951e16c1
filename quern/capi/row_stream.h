// Documents of files as an Arrow stream: the columns that quern_rows knows by name, and members of JSON lines by name and
// type ("score:number").
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/capi/arrow_out.h"
#include "quern/capi/documents.h"

namespace quern::capi {

struct RowStreamSettings {
  RowSettings rows;
  std::vector<std::string> columns = {"text", "source", "url"};
  template <class V>
  void visit(V& v) {
    rows.visit(v);
    v("columns", columns,
      "columns: text, source, url, date, line, and members of a JSON line as NAME:TYPE, with text, integer, number "
      "or truth for the type");
  }
};

// Throws Error naming the column and what it may be.
std::unique_ptr<RecordSource> row_stream(const RowStreamSettings& s);

}  // namespace quern::capi
