// Reading documents: quern_rows of quern.h.
#include <array>

#include "quern/capi/documents.h"
#include "quern/capi/handles.h"

namespace quern::capi {
namespace {

RowSettings read_row_settings(const char* json) {
  RowSettings s;
  from_json(Json::parse(required(json, "options_json"), "options"), s, "options", UnknownKeys::refuse);
  check_rows(s);
  return s;
}

// A field of the documents of a block, one after the other.
struct Column {
  std::string bytes;
  std::vector<int64_t> ends;
  void clear() { bytes.clear(), ends.clear(); }
  void add(std::string_view text) { bytes += text, ends.push_back(static_cast<int64_t>(bytes.size())); }
  std::string_view at(size_t i) const {
    const auto begin = i == 0 ? size_t{0} : static_cast<size_t>(ends[i - 1]);
    return std::string_view(bytes).substr(begin, static_cast<size_t>(ends[i]) - begin);
  }
};

constexpr std::array<std::string_view, 5> kRowFields = {"text", "line", "url", "date", "source"};

size_t row_field(std::string_view name) {
  const auto at = std::ranges::find(kRowFields, name);
  if (at == kRowFields.end()) fail("'{}' is no field of a row: expected text, line, url, date or source", name);
  return static_cast<size_t>(at - kRowFields.begin());
}

}  // namespace
}  // namespace quern::capi

struct quern_rows {
  explicit quern_rows(const quern::capi::RowSettings& s) : documents(s, size_t{1} << 20) {}

  size_t count() const { return columns[0].ends.size(); }
  bool fill() {  // false at the end
    at = 0;
    for (quern::capi::Column& c : columns) c.clear();
    return documents.next([&](const quern::corpus::DocumentView& d) {
      const std::array<std::string_view, 5> values = {d.text, d.line, d.url, d.date, documents.source_of(d)};
      for (size_t i = 0; i < values.size(); ++i) columns[i].add(values[i]);
    });
  }

  quern::capi::DocumentBlocks documents;
  std::array<quern::capi::Column, quern::capi::kRowFields.size()> columns = {};
  size_t at = 0;  // one past the current document
};

using namespace quern::capi;

extern "C" {

quern_rows* quern_rows_open(const char* options_json) {
  return guarded(static_cast<quern_rows*>(nullptr), [&] { return new quern_rows(read_row_settings(options_json)); });
}

void quern_rows_free(quern_rows* rows) { delete rows; }

int quern_rows_next(quern_rows* rows) {
  return guarded(-1, [&] {
    quern_rows& r = required(rows, "rows");
    if (r.at >= r.count() && !r.fill()) return 0;
    ++r.at;
    return 1;
  });
}

const char* quern_rows_field(const quern_rows* rows, const char* name, int64_t* length) {
  return guarded(static_cast<const char*>(nullptr), [&] {
    const quern_rows& r = required(rows, "rows");
    if (r.at == 0 || r.at > r.count()) quern::fail("there is no row: quern_rows_next did not return 1");
    const std::string_view field = r.columns[row_field(required(name, "name"))].at(r.at - 1);
    required(length, "length") = static_cast<int64_t>(field.size());
    return field.data();
  });
}

int64_t quern_rows_next_block(quern_rows* rows) {
  return guarded(int64_t{-1}, [&] {
    quern_rows& r = required(rows, "rows");
    if (!r.fill()) return int64_t{0};
    r.at = r.count();
    return static_cast<int64_t>(r.count());
  });
}

const char* quern_rows_block_field(const quern_rows* rows, const char* name, const int64_t** ends) {
  return guarded(static_cast<const char*>(nullptr), [&] {
    const Column& c = required(rows, "rows").columns[row_field(required(name, "name"))];
    required(ends, "ends") = c.ends.data();
    return c.bytes.c_str();
  });
}

int64_t quern_rows_skipped(const quern_rows* rows) {
  return guarded(int64_t{-1}, [&] { return required(rows, "rows").documents.skipped(); });
}

}  // extern "C"
