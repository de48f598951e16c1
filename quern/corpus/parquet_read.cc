// Reading Parquet: a cursor a column goes from page to page, and rows are put together as JSON lines.
#include <charconv>
#include <cmath>
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/json_line.h"
#include "quern/corpus/parquet.h"
#include "quern/corpus/parquet_format.h"
#include "quern/corpus/snappy.h"

namespace quern::corpus {
namespace {

using namespace parquet;

constexpr int64_t kMaxPage = int64_t{1} << 30;

const char* why_left_out(const ColumnSchema& c) {
  if (!c.flat) return "nested or repeated";
  if (c.type == Type::int96) return "of 96 bits";
  if (c.type == Type::fixed) return "of fixed length";
  if (c.converted == kDecimal) return "decimal";
  return nullptr;
}

class PackedBytes : public ByteStream {  // for the unpackers of files
 public:
  explicit PackedBytes(std::string_view bytes) : bytes_(bytes) {}
  size_t read(char* to, size_t n) override {
    n = std::min(n, bytes_.size());
    std::memcpy(to, bytes_.data(), n);
    bytes_.remove_prefix(n);
    return n;
  }

 private:
  std::string_view bytes_;
};

// Runs of equal values and packed groups of eight: levels, dictionary indices, booleans.
class HybridRuns {
 public:
  HybridRuns() = default;
  HybridRuns(std::string_view bytes, int width) : bytes_(bytes), width_(width) {}
  bool next(uint32_t& v) {
    while (left_ == 0)
      if (!begin_run()) return false;
    --left_;
    if (repeated_) {
      v = value_;
      return true;
    }
    v = 0;
    for (int i = 0; i < width_; ++i, ++bit_)
      v |= static_cast<uint32_t>(static_cast<unsigned char>(bytes_[bit_ >> 3]) >> (bit_ & 7) & 1) << i;
    if (left_ == 0) bytes_.remove_prefix((bit_ + 7) / 8);
    return true;
  }

 private:
  bool begin_run() {
    uint64_t head = 0;
    size_t at = 0;
    for (int shift = 0;; shift += 7) {
      if (at >= bytes_.size() || shift > 28) return false;
      const auto b = static_cast<unsigned char>(bytes_[at++]);
      head |= static_cast<uint64_t>(b & 0x7F) << shift;
      if (!(b & 0x80)) break;
    }
    bytes_.remove_prefix(at);
    repeated_ = !(head & 1);
    if (repeated_) {
      const size_t n = static_cast<size_t>(width_ + 7) / 8;
      if (bytes_.size() < n) return false;
      value_ = 0;
      for (size_t i = 0; i < n; ++i)
        value_ |= static_cast<uint32_t>(static_cast<unsigned char>(bytes_[i])) << (8 * i);
      bytes_.remove_prefix(n);
      left_ = head >> 1;
    } else {
      const uint64_t groups = head >> 1;
      if (width_ > 0 && groups > bytes_.size() / static_cast<size_t>(width_)) {
        if (groups > bytes_.size() + 1) return false;  // the last group may be cut by some writers
        left_ = width_ == 0 ? 0 : bytes_.size() * 8 / static_cast<size_t>(width_);
      } else {
        left_ = groups * 8;
      }
      bit_ = 0;
    }
    return true;
  }
  std::string_view bytes_;
  int width_ = 0;
  uint64_t left_ = 0;
  size_t bit_ = 0;
  bool repeated_ = false;
  uint32_t value_ = 0;
};

// One column of one row group, value by value.
class ColumnCursor {
 public:
  ColumnCursor(std::string_view file, const std::string& name, const ColumnSchema& schema, const ChunkInfo& chunk)
      : name_(name), schema_(schema), chunk_(chunk), left_(chunk.values) {
    if (chunk.type != schema.type) bad("is of another type than the schema says");
    const int64_t begin =
        chunk.dictionary_at > 0 && chunk.dictionary_at < chunk.data_at ? chunk.dictionary_at : chunk.data_at;
    bytes_ = file.substr(static_cast<size_t>(begin), static_cast<size_t>(chunk.packed));
  }
  // False: null.
  void append(std::string& line) {
    if (left_ == 0) bad("has fewer values than rows");
    --left_;
    while (in_page_ == 0) next_page();
    --in_page_;
    uint32_t present = 1;
    if (schema_.optional && !levels_.next(present)) bad("ends inside its levels");
    if (!present) {
      line += "null";
      return;
    }
    if (by_dictionary_) {
      uint32_t i = 0;
      if (!indices_.next(i) || i >= dictionary_.size()) bad("has an index outside its dictionary");
      line += dictionary_[i];
    } else {
      plain_value(values_, line);
    }
  }

 private:
  [[noreturn]] void bad(const std::string& why) const {
    fail("{}: damaged Parquet file: column '{}' {}", name_, schema_.name, why);
  }
  template <class T>
  T take(std::string_view& from) const {
    T v;
    if (from.size() < sizeof(T)) bad("ends inside a value");
    std::memcpy(&v, from.data(), sizeof(T));
    from.remove_prefix(sizeof(T));
    return v;
  }
  static void number(double v, std::string& line, auto as) {
    if (!std::isfinite(v)) {
      line += "null";
      return;
    }
    char digits[40];
    const auto end = std::to_chars(digits, digits + sizeof digits, as).ptr;
    line.append(digits, end);
  }
  void plain_value(std::string_view& from, std::string& line) {
    switch (schema_.type) {
      case Type::boolean: {
        uint32_t v = 0;
        if (bools_by_runs_) {
          if (!indices_.next(v)) bad("ends inside a value");
        } else {
          if (bit_ / 8 >= from.size()) bad("ends inside a value");
          v = static_cast<unsigned char>(from[bit_ / 8]) >> (bit_ % 8) & 1;
          ++bit_;
        }
        line += v ? "true" : "false";
        return;
      }
      case Type::int32: {
        const auto v = take<int32_t>(from);
        const bool is_unsigned = schema_.converted >= kUint8 && schema_.converted <= kUint64;
        line += is_unsigned ? std::to_string(static_cast<uint32_t>(v)) : std::to_string(v);
        return;
      }
      case Type::int64: {
        const auto v = take<int64_t>(from);
        line += schema_.converted == kUint64 ? std::to_string(static_cast<uint64_t>(v)) : std::to_string(v);
        return;
      }
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
        append_json_string(line, from.substr(0, n));
        from.remove_prefix(n);
      }
    }
  }
  std::string_view unpack(std::string_view packed, int64_t unpacked, std::string& to) {
    if (unpacked > kMaxPage) bad(fmt::format("has a page of {} bytes, at most {}", unpacked, kMaxPage));
    const auto n = static_cast<size_t>(unpacked);
    std::unique_ptr<ByteStream> stream;
    switch (chunk_.codec) {
      case Codec::none:
        return packed;
      case Codec::snappy:
        unpack_snappy(packed, n, to);
        break;
      case Codec::gzip:
        stream = unpack_gzip(std::make_unique<PackedBytes>(packed), name_);
        break;
      case Codec::zstd:
        stream = unpack_zstd(std::make_unique<PackedBytes>(packed), name_);
        break;
      default:
        fail("{}: column '{}' is packed by method {}; expected none, snappy, gzip or zstd", name_, schema_.name,
             static_cast<int>(chunk_.codec));
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
  void next_page() {
    size_t used = 0;
    if (bytes_.empty()) bad("has fewer values than rows");
    const PageInfo p = read_page_header(bytes_, used, name_);
    bytes_.remove_prefix(used);
    if (static_cast<uint64_t>(p.packed) > bytes_.size()) bad("has a page that ends outside it");
    std::string_view body = bytes_.substr(0, static_cast<size_t>(p.packed));
    bytes_.remove_prefix(static_cast<size_t>(p.packed));
    const auto encoding = static_cast<Encoding>(p.encoding);
    if (p.type == PageType::index) return;
    if (p.type == PageType::dictionary) {
      if (encoding != Encoding::plain && encoding != Encoding::plain_dictionary) unknown(p.encoding);
      body = unpack(body, p.unpacked, dictionary_page_);
      bit_ = 0, bools_by_runs_ = false;
      dictionary_.clear();
      for (int64_t i = 0; i < p.values; ++i) plain_value(body, dictionary_.emplace_back());
      return;
    }
    if (p.type == PageType::data) {
      body = unpack(body, p.unpacked, page_);
      if (schema_.optional) {
        if (p.level_encoding != 3) bad("has levels that are not in runs");
        const auto n = take<uint32_t>(body);
        if (n > body.size()) bad("has levels that end outside their page");
        levels_ = HybridRuns(body.substr(0, n), 1);
        body.remove_prefix(n);
      }
    } else if (p.type == PageType::data_v2) {
      const uint64_t before = static_cast<uint64_t>(p.level_bytes) + static_cast<uint64_t>(p.repetition_bytes);
      if (before > body.size() || before > static_cast<uint64_t>(p.unpacked))
        bad("has levels that end outside their page");
      levels_ =
          HybridRuns(body.substr(static_cast<size_t>(p.repetition_bytes), static_cast<size_t>(p.level_bytes)), 1);
      body.remove_prefix(before);
      if (p.values_packed) body = unpack(body, p.unpacked - static_cast<int64_t>(before), page_);
    } else {
      bad("has a page of an unknown kind");
    }
    by_dictionary_ = encoding == Encoding::plain_dictionary || encoding == Encoding::rle_dictionary;
    bools_by_runs_ = encoding == Encoding::rle && schema_.type == Type::boolean;
    if (by_dictionary_) {
      const auto width = body.empty() ? uint8_t{0} : take<uint8_t>(body);
      if (width > 32) bad("has indices of more than 32 bits");
      indices_ = HybridRuns(body, width);
    } else if (bools_by_runs_) {
      const auto n = take<uint32_t>(body);
      if (n > body.size()) bad("has values that end outside their page");
      indices_ = HybridRuns(body.substr(0, n), 1);
    } else if (encoding != Encoding::plain) {
      unknown(p.encoding);
    }
    values_ = body, bit_ = 0;
    in_page_ = p.values;
  }
  [[noreturn]] void unknown(int32_t encoding) const {
    fail("{}: column '{}' is written in encoding {}; expected plain (0), by dictionary (2, 8) or runs (3)", name_,
         schema_.name, encoding);
  }

  const std::string& name_;
  const ColumnSchema& schema_;
  ChunkInfo chunk_;
  int64_t left_ = 0, in_page_ = 0;
  std::string_view bytes_, values_;
  std::string page_, dictionary_page_;
  std::vector<std::string> dictionary_;  // as JSON
  HybridRuns levels_, indices_;
  bool by_dictionary_ = false, bools_by_runs_ = false;
  size_t bit_ = 0;
};

class ParquetLines : public ByteStream {
 public:
  explicit ParquetLines(const std::filesystem::path& file) : map_(file), name_(file.string()) {
    bytes_ = {reinterpret_cast<const char*>(map_.bytes().data()), map_.bytes().size()};
    info_ = read_footer(bytes_, name_);
  }
  size_t read(char* to, size_t n) override {
    while (at_ == lines_.size()) {
      lines_.clear();
      at_ = 0;
      if (!more()) return 0;
    }
    n = std::min(n, lines_.size() - at_);
    std::memcpy(to, lines_.data() + at_, n);
    at_ += n;
    return n;
  }

 private:
  bool more() {
    while (row_ == rows_) {
      if (group_ == info_.groups.size()) return false;
      const GroupInfo& g = info_.groups[group_++];
      row_ = 0, rows_ = g.rows;
      if (rows_ == 0) continue;
      columns_.clear(), heads_.clear();
      size_t leaf = 0;
      for (const ColumnSchema& c : info_.columns) {
        if (!why_left_out(c)) {
          columns_.emplace_back(bytes_, name_, c, g.chunks[leaf]);
          std::string& head = heads_.emplace_back(heads_.empty() ? "{" : ",");
          append_json_string(head, c.name);
          head += ':';
        }
        leaf += c.leaves;
      }
    }
    for (; row_ < rows_ && lines_.size() < (size_t{1} << 18); ++row_) {
      if (columns_.empty()) lines_ += '{';
      for (size_t i = 0; i < columns_.size(); ++i) {
        lines_ += heads_[i];
        columns_[i].append(lines_);
      }
      lines_ += "}\n";
    }
    return true;
  }
  MappedFile map_;
  std::string name_;
  std::string_view bytes_;
  FileInfo info_;
  size_t group_ = 0;
  int64_t row_ = 0, rows_ = 0;
  std::vector<ColumnCursor> columns_;
  std::vector<std::string> heads_;
  std::string lines_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> open_parquet(const std::filesystem::path& file) {
  return std::make_unique<ParquetLines>(file);
}

std::vector<std::string> parquet_columns_left_out(const std::filesystem::path& file) {
  const MappedFile map(file);
  const FileInfo info =
      read_footer({reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size()}, file.string());
  std::vector<std::string> left;
  for (const ColumnSchema& c : info.columns)
    if (const char* why = why_left_out(c)) left.push_back(fmt::format("{} ({})", c.name, why));
  return left;
}

}  // namespace quern::corpus
