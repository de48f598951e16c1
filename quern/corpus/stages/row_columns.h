// Columns that are added to rows: what models, rules and side files say of a document. Every worker has its own, because
// models need buffers. A row that has a member of that name keeps its own.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quern/corpus/filters/filter.h"
#include "quern/corpus/io/ingest.h"

namespace quern::corpus {

class RowColumns {
 public:
  virtual ~RowColumns() = default;
  // add(name, JSON value) for every column of this document. Whether a side file had a row for it.
  using Add = std::function<void(const std::string& name, std::string_view value)>;
  virtual bool columns(const DocumentView& d, const FilterResult& result, const Add& add) = 0;
};
using RowColumnsMaker = std::function<std::unique_ptr<RowColumns>()>;

}  // namespace quern::corpus
