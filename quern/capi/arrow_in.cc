#include "quern/capi/arrow_in.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::capi {
namespace {

template <class T>
T value_at(const void* buffer, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(buffer) + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

bool is_valid(const ArrowArray& a, int64_t i) {
  if (a.null_count == 0 || a.n_buffers == 0 || !a.buffers[0]) return true;
  return (static_cast<const uint8_t*>(a.buffers[0])[i / 8] >> (i % 8) & 1) != 0;
}

// Bytes [begin, end) of the texts of an array.
std::string_view piece(const ArrowArray& a, int64_t begin, int64_t end) {
  if (begin < 0 || end < begin) fail("an Arrow array of texts whose offsets go backwards, from {} to {}", begin, end);
  if (begin == end) return {};
  return {static_cast<const char*>(a.buffers[2]) + begin, static_cast<size_t>(end - begin)};
}

template <class Offset>
std::string_view text_by_offset(const ArrowArray& a, int64_t i) {
  return piece(a, value_at<Offset>(a.buffers[1], i), value_at<Offset>(a.buffers[1], i + 1));
}

// 16 bytes: the length, then up to 12 bytes of text, or the first four with the number of a buffer and an offset in it.
std::string_view text_by_view(const ArrowArray& a, int64_t i) {
  constexpr int32_t kInside = 12;
  const char* at = static_cast<const char*>(a.buffers[1]) + 16 * i;
  const auto length = value_at<int32_t>(at, 0);
  if (length < 0) fail("an Arrow string view with a length of {}", length);
  if (length <= kInside) return {at + 4, static_cast<size_t>(length)};
  const int64_t buffer = value_at<int32_t>(at, 2), offset = value_at<int32_t>(at, 3);
  if (buffer < 0 || offset < 0 || buffer >= a.n_buffers - 3)
    fail("an Arrow string view into buffer {} of {}", buffer, a.n_buffers - 3);
  return {static_cast<const char*>(a.buffers[2 + buffer]) + offset, static_cast<size_t>(length)};
}

using TextAt = std::string_view (*)(const ArrowArray&, int64_t);
TextAt text_reader(std::string_view format) {
  if (format == "u") return text_by_offset<int32_t>;
  if (format == "U") return text_by_offset<int64_t>;
  if (format == "vu") return text_by_view;
  return nullptr;
}

template <class T>
int64_t whole(const void* buffer, int64_t i) {
  return static_cast<int64_t>(value_at<T>(buffer, i));
}
using WholeAt = int64_t (*)(const void*, int64_t);
WholeAt whole_reader(std::string_view format) {
  constexpr std::pair<char, WholeAt> kReaders[] = {
      {'c', whole<int8_t>},  {'C', whole<uint8_t>},  {'s', whole<int16_t>}, {'S', whole<uint16_t>},
      {'i', whole<int32_t>}, {'I', whole<uint32_t>}, {'l', whole<int64_t>}, {'L', whole<uint64_t>}};
  for (const auto& [letter, reader] : kReaders)
    if (format.size() == 1 && format[0] == letter) return reader;
  return nullptr;
}

bool is_text(const ArrowSchema& s) {
  return text_reader(s.dictionary ? s.dictionary->format : s.format) && (!s.dictionary || whole_reader(s.format));
}
bool is_readable(const ArrowSchema& s) { return is_text(s) || (!s.dictionary && whole_reader(s.format)); }

}  // namespace

ArrowTexts::ArrowTexts(ArrowArrayStream* stream, std::vector<std::string> columns) : stream_(*stream) {
  if (!stream_.release)
    fail("the Arrow stream was released, or taken by another reader: ask its table for a new one");
  stream->release = nullptr;
  try {
    check(stream_.get_schema(&stream_, &schema_));
    find(std::move(columns));
  } catch (...) {
    if (schema_.release) schema_.release(&schema_);
    stream_.release(&stream_);
    throw;
  }
}

ArrowTexts::~ArrowTexts() {
  if (batch_.release) batch_.release(&batch_);
  if (schema_.release) schema_.release(&schema_);
  stream_.release(&stream_);
}

void ArrowTexts::check(int status) {
  if (status == 0) return;
  const char* why = stream_.get_last_error ? stream_.get_last_error(&stream_) : nullptr;
  fail("the Arrow stream failed: {}", why ? why : std::strerror(status));
}

const ArrowSchema& ArrowTexts::schema_of(const Column& c) const {
  return c.child < 0 ? schema_ : *schema_.children[c.child];
}

void ArrowTexts::find(std::vector<std::string> names) {
  if (std::string_view(schema_.format) != "+s") {
    if (names.size() > 1) fail("columns {}: found a single column, expected a table", fmt::join(names, ", "));
    columns_.push_back(
        {.name = schema_.name && *schema_.name ? schema_.name : "the column", .texts = {}, .digits = {}});
  } else {
    std::vector<std::string> all;
    for (int64_t i = 0; i < schema_.n_children; ++i)
      all.emplace_back(schema_.children[i]->name ? schema_.children[i]->name : "");
    if (names.empty()) names.push_back(all.size() == 1 ? all[0] : "text");
    for (const std::string& name : names) {
      const auto at = std::ranges::find(all, name);
      if (at == all.end())
        fail("column '{}': not in the table, whose columns are {}{}; name the one that holds the text", name,
             fmt::join(all, ", "), did_you_mean(name, all));
      columns_.push_back({.name = name, .child = at - all.begin(), .texts = {}, .digits = {}});
    }
  }
  for (const Column& c : columns_) {
    const ArrowSchema& s = schema_of(c);
    if (!is_readable(s))
      fail(
          "column '{}': its Arrow type '{}' holds no text; expected strings, a dictionary of strings or whole "
          "numbers",
          c.name, s.format);
  }
}

void ArrowTexts::read(Column& c) {
  const ArrowSchema& s = schema_of(c);
  const ArrowArray& a = c.child < 0 ? batch_ : *batch_.children[c.child];
  const int64_t first = a.offset + (c.child < 0 ? 0 : batch_.offset);
  c.texts.clear(), c.digits.clear();
  if (!is_text(s)) {
    const WholeAt number = whole_reader(s.format);
    const bool is_unsigned = *s.format == 'L';
    c.digits.reserve(static_cast<size_t>(rows_));  // the views stay
    for (int64_t i = first; i < first + rows_; ++i) {
      const int64_t value = is_valid(a, i) ? number(a.buffers[1], i) : 0;
      c.digits.push_back(!is_valid(a, i) ? ""
                         : is_unsigned   ? std::to_string(static_cast<uint64_t>(value))
                                         : std::to_string(value));
      c.texts.emplace_back(c.digits.back());
    }
    return;
  }
  const TextAt text = text_reader(s.dictionary ? s.dictionary->format : s.format);
  for (int64_t i = first; i < first + rows_; ++i) {
    if (!is_valid(a, i)) {
      c.texts.emplace_back();
    } else if (!s.dictionary) {
      c.texts.push_back(text(a, i));
    } else {
      const ArrowArray& d = *a.dictionary;
      const int64_t at = whole_reader(s.format)(a.buffers[1], i);
      if (at < 0 || at >= d.length) fail("column '{}': dictionary entry {} of {}", c.name, at, d.length);
      c.texts.push_back(is_valid(d, d.offset + at) ? text(d, d.offset + at) : std::string_view());
    }
  }
}

bool ArrowTexts::next() {
  do {
    if (batch_.release) batch_.release(&batch_);
    batch_ = {};
    check(stream_.get_next(&stream_, &batch_));
    if (!batch_.release) return false;
    rows_ = batch_.length;
  } while (rows_ == 0);
  for (Column& c : columns_) read(c);
  return true;
}

}  // namespace quern::capi
