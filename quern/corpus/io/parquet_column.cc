#include "quern/corpus/io/parquet_column.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "quern/base/error.h"
#include "quern/corpus/bytes/brotli.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/bytes/crc32.h"
#include "quern/corpus/bytes/lz4.h"
#include "quern/corpus/bytes/snappy.h"
#include "quern/corpus/io/json_line.h"
#include "quern/text/unicode/base64.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus::parquet {
namespace {

constexpr int64_t kMaxPage = int64_t{1} << 30;

const char* name_of(Codec c) {
  constexpr const char* kNames[] = {"none", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"};
  const auto i = static_cast<size_t>(c);
  return i < std::size(kNames) ? kNames[i] : "an unknown method";
}

void number(double v, std::string& line, auto as) {
  if (!std::isfinite(v)) {
    line += "null";
    return;
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, as).ptr;
  line.append(digits, end);
}

int level_width(int maximum) { return static_cast<int>(std::bit_width(static_cast<unsigned>(maximum))); }

}  // namespace

ColumnCursor::ColumnCursor(std::string_view file, const std::string& name, const ColumnSchema& schema,
                           const ChunkInfo& chunk)
    : name_(name), schema_(schema), chunk_(chunk), left_(chunk.values) {
  if (chunk.type != schema.type) bad("is of another type than the schema says");
  const int64_t begin =
      chunk.dictionary_at > 0 && chunk.dictionary_at < chunk.data_at ? chunk.dictionary_at : chunk.data_at;
  bytes_ = file.substr(static_cast<size_t>(begin), static_cast<size_t>(chunk.packed));
}

bool ColumnCursor::more() {
  if (loaded_) return true;
  if (left_ == 0) return false;
  while (in_page_ == 0) next_page();
  --left_, --in_page_;
  if (schema_.rep > 0 && !repetition_.next(rep_)) bad("ends inside its levels");
  if (schema_.def > 0 && !definition_.next(def_)) bad("ends inside its levels");
  if (rep_ > static_cast<uint32_t>(schema_.rep) || def_ > static_cast<uint32_t>(schema_.def))
    bad("has a level that its schema does not");
  return loaded_ = true;
}

void ColumnCursor::skip() {
  if (!more() || def_ == static_cast<uint32_t>(schema_.def)) bad("has levels that do not match those of its group");
  loaded_ = false;
}

void ColumnCursor::append(std::string& line) {
  if (!more()) bad("has fewer values than rows");
  loaded_ = false;
  if (def_ < static_cast<uint32_t>(schema_.def)) {
    line += "null";
    return;
  }
  switch (form_) {
    case Form::plain:
    case Form::runs:
      return plain_value(values_, line);
    case Form::dictionary: {
      uint32_t i = 0;
      if (!indices_.next(i) || i >= dictionary_.size()) bad("has an index outside its dictionary");
      line += dictionary_[i];
      return;
    }
    case Form::deltas:
      return schema_.type == Type::int32 ? whole_number(static_cast<int32_t>(number_of(deltas_)), line)
                                         : whole_number(number_of(deltas_), line);
    case Form::lengths:
      return bytes_value(next_text(), line);
    case Form::beginnings: {
      const size_t shared = length_of(shared_);
      if (shared > text_.size()) bad("shares a longer prefix than the previous text has");
      text_.resize(shared);
      text_ += next_text();
      return bytes_value(text_, line);
    }
    case Form::split: {
      char value[8] = {};
      if (split_at_ == split_) bad("ends inside a value");
      for (size_t i = 0; i * split_ < values_.size(); ++i) value[i] = values_[i * split_ + split_at_];
      ++split_at_;
      std::string_view one(value, sizeof value);
      return plain_value(one, line);
    }
  }
}

// Levels of a page of version 1, behind their length.
HybridRuns ColumnCursor::sized_levels(std::string_view& body, int maximum) {
  const auto n = take<uint32_t>(body);
  if (n > body.size()) bad("has levels that end outside their page");
  const HybridRuns levels(body.substr(0, n), level_width(maximum));
  body.remove_prefix(n);
  return levels;
}

void ColumnCursor::bad(const std::string& why) const {
  fail("{}: damaged Parquet file: column '{}' {}", name_, schema_.name, why);
}

template <class T>
T ColumnCursor::take(std::string_view& from) const {
  T v;
  if (from.size() < sizeof(T)) bad("ends inside a value");
  std::memcpy(&v, from.data(), sizeof(T));
  from.remove_prefix(sizeof(T));
  return v;
}

int64_t ColumnCursor::number_of(Deltas& d) const {
  int64_t v = 0;
  if (!d.next(v)) bad("ends inside a value");
  return v;
}

size_t ColumnCursor::length_of(Deltas& d) const {
  const int64_t n = number_of(d);
  if (n < 0) bad("has a text of negative length");
  return static_cast<size_t>(n);
}

std::string_view ColumnCursor::next_text() {  // its length is told apart from it
  const size_t n = length_of(lengths_);
  if (n > values_.size()) bad("ends inside a value");
  const std::string_view text = values_.substr(0, n);
  values_.remove_prefix(n);
  return text;
}

void ColumnCursor::whole_number(int32_t v, std::string& line) const {
  if (schema_.time.kind != TimeForm::Kind::none) return append_time(schema_.time, v, line);
  const bool is_unsigned = schema_.converted >= kUint8 && schema_.converted <= kUint64;
  line += is_unsigned ? std::to_string(static_cast<uint32_t>(v)) : std::to_string(v);
}

void ColumnCursor::whole_number(int64_t v, std::string& line) const {
  if (schema_.time.kind != TimeForm::Kind::none) return append_time(schema_.time, v, line);
  line += schema_.converted == kUint64 ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v);
}

// Older writers do not say that bytes are text: those that can be are.
void ColumnCursor::bytes_value(std::string_view bytes, std::string& line) const {
  if (schema_.text || text::utf8_error(bytes) == bytes.npos) return append_json_string(line, bytes);
  line += "{\"base64\":\"" + text::base64(bytes) + "\"}";
}

void ColumnCursor::plain_value(std::string_view& from, std::string& line) {
  switch (schema_.type) {
    case Type::boolean: {
      uint32_t v = 0;
      if (form_ == Form::runs) {
        if (!indices_.next(v)) bad("ends inside a value");
      } else {
        if (bit_ / 8 >= from.size()) bad("ends inside a value");
        v = static_cast<unsigned char>(from[bit_ / 8]) >> (bit_ % 8) & 1;
        ++bit_;
      }
      line += v ? "true" : "false";
      return;
    }
    case Type::int32:
      return whole_number(take<int32_t>(from), line);
    case Type::int64:
      return whole_number(take<int64_t>(from), line);
    case Type::float32: {
      const auto v = take<float>(from);
      return number(v, line, v);
    }
    case Type::float64: {
      const auto v = take<double>(from);
      return number(v, line, v);
    }
    default: {
      const auto n = take<uint32_t>(from);
      if (n > from.size()) bad("ends inside a value");
      bytes_value(from.substr(0, n), line);
      from.remove_prefix(n);
    }
  }
}

std::string_view ColumnCursor::unpack(std::string_view packed, int64_t unpacked, std::string& to) {
  if (unpacked > kMaxPage) bad(fmt::format("has a page of {} bytes, at most {}", unpacked, kMaxPage));
  const auto n = static_cast<size_t>(unpacked);
  std::unique_ptr<ByteStream> stream;
  switch (chunk_.codec) {
    case Codec::none:
      return packed;
    case Codec::snappy:
      decompress_snappy(packed, n, to);
      break;
    case Codec::gzip:
      stream = decompress_gzip(bytes_in_memory(packed), name_);
      break;
    case Codec::zstd:
      stream = decompress_zstd(bytes_in_memory(packed), name_);
      break;
    case Codec::brotli:
      decompress_brotli(packed, n, to);
      break;
    case Codec::lz4:
      decompress_lz4_sized(packed, n, to);
      break;
    case Codec::lz4_raw:
      decompress_lz4(packed, n, to);
      break;
    default:
      fail("{}: column '{}' is compressed with {}; expected none, snappy, gzip, brotli, lz4, lz4_raw or zstd", name_,
           schema_.name, name_of(chunk_.codec));
  }
  if (stream) {
    to.resize(n + 1);
    size_t have = 0;
    while (const size_t some = have <= n ? stream->read(to.data() + have, to.size() - have) : 0) have += some;
    to.resize(have);
  }
  if (to.size() != n) bad(fmt::format("has a page of {} bytes, expected {}", to.size(), n));
  return to;
}

void ColumnCursor::next_page() {
  size_t used = 0;
  if (bytes_.empty()) bad("has fewer values than rows");
  const PageInfo p = read_page_header(bytes_, used, name_);
  bytes_.remove_prefix(used);
  if (static_cast<uint64_t>(p.packed) > bytes_.size()) bad("has a page that ends outside it");
  std::string_view body = bytes_.substr(0, static_cast<size_t>(p.packed));
  bytes_.remove_prefix(static_cast<size_t>(p.packed));
  if (p.checksum && *p.checksum != crc32_of(body)) bad("has a page that is not what its checksum says");
  const auto encoding = static_cast<Encoding>(p.encoding);
  if (p.type == PageType::index) return;
  if (p.type == PageType::dictionary) {
    if (encoding != Encoding::plain && encoding != Encoding::plain_dictionary) unknown(encoding);
    body = unpack(body, p.unpacked, dictionary_page_);
    bit_ = 0, form_ = Form::plain;
    dictionary_.clear();
    for (int64_t i = 0; i < p.values; ++i) plain_value(body, dictionary_.emplace_back());
    return;
  }
  if (p.type == PageType::data) {
    body = unpack(body, p.unpacked, page_);
    if (schema_.rep > 0) repetition_ = sized_levels(body, schema_.rep);
    if (schema_.def > 0) {
      if (p.level_encoding != 3) bad("has levels that are not in runs");
      definition_ = sized_levels(body, schema_.def);
    }
  } else if (p.type == PageType::data_v2) {
    const uint64_t before = static_cast<uint64_t>(p.level_bytes) + static_cast<uint64_t>(p.repetition_bytes);
    if (before > body.size() || before > static_cast<uint64_t>(p.unpacked))
      bad("has levels that end outside their page");
    const auto repeated = static_cast<size_t>(p.repetition_bytes);
    repetition_ = HybridRuns(body.substr(0, repeated), level_width(schema_.rep));
    definition_ = HybridRuns(body.substr(repeated, static_cast<size_t>(p.level_bytes)), level_width(schema_.def));
    body.remove_prefix(before);
    if (p.values_packed) body = unpack(body, p.unpacked - static_cast<int64_t>(before), page_);
  } else {
    bad("has a page of an unknown kind");
  }
  values_ = body, bit_ = 0;
  begin_values(encoding);
  in_page_ = p.values;
}

// Values of a page from here on, in this encoding.
void ColumnCursor::begin_values(Encoding encoding) {
  const auto only_for = [&](bool fits) {
    if (!fits) unknown(encoding);
  };
  switch (encoding) {
    case Encoding::plain:
      form_ = Form::plain;
      return;
    case Encoding::plain_dictionary:
    case Encoding::rle_dictionary: {
      form_ = Form::dictionary;
      const auto width = values_.empty() ? uint8_t{0} : take<uint8_t>(values_);
      if (width > 32) bad("has indices of more than 32 bits");
      indices_ = HybridRuns(values_, width);
      return;
    }
    case Encoding::rle: {
      only_for(schema_.type == Type::boolean);
      form_ = Form::runs;
      const auto n = take<uint32_t>(values_);
      if (n > values_.size()) bad("has values that end outside their page");
      indices_ = HybridRuns(values_.substr(0, n), 1);
      return;
    }
    case Encoding::delta_numbers:
      only_for(schema_.type == Type::int32 || schema_.type == Type::int64);
      form_ = Form::deltas;
      return begin_numbers(deltas_);
    case Encoding::delta_lengths:
      only_for(schema_.type == Type::bytes);
      form_ = Form::lengths;
      return begin_numbers(lengths_);
    case Encoding::delta_texts:
      only_for(schema_.type == Type::bytes);
      form_ = Form::beginnings;
      text_.clear();
      begin_numbers(shared_);
      return begin_numbers(lengths_);
    case Encoding::byte_split: {
      const bool wide = schema_.type == Type::float64 || schema_.type == Type::int64;
      only_for(wide || schema_.type == Type::float32 || schema_.type == Type::int32);
      form_ = Form::split;
      const size_t width = wide ? 8 : 4;
      if (values_.size() % width != 0) bad("ends inside a value");
      split_ = values_.size() / width, split_at_ = 0;
      return;
    }
  }
  unknown(encoding);
}

void ColumnCursor::begin_numbers(Deltas& d) {  // what is left behind them becomes the values
  d = {};
  if (values_.empty()) return;  // all of the page's values are null
  if (!d.begin(values_) || !d.behind(values_)) bad("has damaged differences");
}

void ColumnCursor::unknown(Encoding encoding) const {
  fail(
      "{}: column '{}' has encoding {}, which its type does not support; expected plain (0), dictionary (2, 8), "
      "RLE (3), delta (5, 6, 7) or byte stream split (9)",
      name_, schema_.name, static_cast<int>(encoding));
}

}  // namespace quern::corpus::parquet
