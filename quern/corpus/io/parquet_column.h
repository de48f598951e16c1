// One column of one row group of a Parquet file, value by value, as JSON, with the levels that say where a value lies in
// nested rows: `rep`, how many of the repeated groups around it go on, and `def`, how many of the optional and repeated
// groups around it are there.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/io/parquet_encodings.h"
#include "quern/corpus/io/parquet_format.h"

namespace quern::corpus::parquet {

class ColumnCursor {
 public:
  // `schema` is a leaf; `file`, `name` and it must outlive the cursor.
  ColumnCursor(std::string_view file, const std::string& name, const ColumnSchema& schema, const ChunkInfo& chunk);
  bool more();  // there is a value, or a null; its levels are rep() and def() from then on
  uint32_t rep() const { return rep_; }
  uint32_t def() const { return def_; }
  void append(std::string& line);  // the next value, or null
  void skip();                     // a null that is told by a group around it

 private:
  [[noreturn]] void bad(const std::string& why) const;
  template <class T>
  T take(std::string_view& from) const;
  int64_t number_of(Deltas& d) const;
  size_t length_of(Deltas& d) const;
  std::string_view next_text();
  void whole_number(int32_t v, std::string& line) const;
  void whole_number(int64_t v, std::string& line) const;
  void bytes_value(std::string_view bytes, std::string& line) const;
  void plain_value(std::string_view& from, std::string& line);
  HybridRuns sized_levels(std::string_view& body, int maximum);
  std::string_view unpack(std::string_view packed, int64_t unpacked, std::string& to);
  void next_page();
  // Values of a page from here on, in this encoding.
  void begin_values(Encoding encoding);
  void begin_numbers(Deltas& d);
  [[noreturn]] void unknown(Encoding encoding) const;

  const std::string& name_;
  const ColumnSchema& schema_;
  ChunkInfo chunk_;
  int64_t left_ = 0, in_page_ = 0;
  std::string_view bytes_, values_;
  std::string page_, dictionary_page_;
  std::vector<std::string> dictionary_;  // as JSON
  HybridRuns repetition_, definition_, indices_;
  Deltas deltas_, lengths_, shared_;
  std::string text_;  // the one before, which the next one may begin like
  enum class Form { plain, runs, dictionary, deltas, lengths, beginnings, split } form_ = Form::plain;
  uint32_t rep_ = 0, def_ = 0;
  bool loaded_ = false;
  size_t bit_ = 0, split_ = 0, split_at_ = 0;
};

}  // namespace quern::corpus::parquet
