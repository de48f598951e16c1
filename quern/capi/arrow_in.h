// Texts of a table that comes over the Arrow C stream interface: one or more columns of record batches, or a stream that
// is itself a column. Texts may be utf8, large_utf8, string views or dictionaries of these; whole numbers are read as
// their decimal digits, and a null as an empty text.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/capi/arrow_format.h"

namespace quern::capi {

class ArrowTexts {
 public:
  // Takes the stream over, also when it throws. columns: their names; none: the only column, else that named "text".
  // Throws Error naming the column and those there are.
  ArrowTexts(ArrowArrayStream* stream, std::vector<std::string> columns);
  ~ArrowTexts();
  ArrowTexts(const ArrowTexts&) = delete;
  ArrowTexts& operator=(const ArrowTexts&) = delete;

  bool next();  // the next batch with a row in it; false at the end
  int64_t rows() const { return rows_; }
  // Of column i, valid until the next call of next().
  std::span<const std::string_view> texts(size_t i) const { return columns_[i].texts; }
  size_t columns() const { return columns_.size(); }

 private:
  struct Column {
    std::string name;
    int64_t child = -1;  // −1: the stream itself is the column
    std::vector<std::string_view> texts;
    std::vector<std::string> digits;  // of numbers, which have no bytes of their own
  };
  void find(std::vector<std::string> names);
  void check(int status);
  const ArrowSchema& schema_of(const Column& c) const;
  void read(Column& c);

  ArrowArrayStream stream_;
  ArrowSchema schema_ = {};
  ArrowArray batch_ = {};
  std::vector<Column> columns_;
  int64_t rows_ = 0;
};

}  // namespace quern::capi
