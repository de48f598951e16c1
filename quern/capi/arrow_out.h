// Tables that go out over the Arrow C stream interface: a RecordSource makes record batches of columns whose buffers the
// receiver owns from then on, without a copy. Offsets of texts and lists have 32 bits: a batch holds less than 2 GiB.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/capi/arrow_format.h"

namespace quern::capi {

enum class ArrowType : uint8_t { text, integer, number, truth, texts };  // utf8, int64, float64, bool, list of utf8

struct ArrowField {
  std::string name;
  ArrowType type = ArrowType::text;
};

// One buffer of an array, and what keeps it alive.
struct ArrowBuffer {
  std::shared_ptr<const void> owner;
  const void* data = nullptr;
};

// Values one after the other; finish() hands them over and leaves an empty column.
class ArrowColumn {
 public:
  explicit ArrowColumn(ArrowType type);
  void add(std::string_view text);
  void add(int64_t value);
  void add(double value);
  void add_truth(bool value);
  void add_null();
  // Of a list of texts: the texts since the last call are its next value.
  void add_to_list(std::string_view text);
  void end_list();
  int64_t size() const { return rows_; }
  int64_t bytes() const { return static_cast<int64_t>(text_.size()); }
  void export_to(ArrowArray* out);

 private:
  void end_row(int64_t nulls);  // 1: the row that was added is null
  ArrowType type_;
  int64_t rows_ = 0, nulls_ = 0;
  std::vector<uint8_t> validity_, bits_;
  std::vector<int32_t> ends_, list_ends_;  // the first entry is 0
  std::string text_;
  std::vector<int64_t> integers_;
  std::vector<double> numbers_;
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  virtual const std::vector<ArrowField>& fields() const = 0;
  // The next batch, a column per field; none at the end. Throws Error.
  virtual std::optional<std::vector<ArrowColumn>> next() = 0;
};

void export_stream(std::unique_ptr<RecordSource> source, ArrowArrayStream* out);

}  // namespace quern::capi
