// Parquet reader: one cursor per leaf walks its pages, and rows are assembled as JSON lines: groups become objects, lists
// and repeated columns arrays, maps objects.
#include <algorithm>
#include <cstring>
#include <span>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/io/json_line.h"
#include "quern/corpus/io/parquet.h"
#include "quern/corpus/io/parquet_column.h"
#include "quern/corpus/io/parquet_format.h"

namespace quern::corpus {
namespace {

using namespace parquet;

const char* why_left_out(const ColumnSchema& c) {
  for (const ColumnSchema& child : c.children)
    if (const char* why = why_left_out(child)) return why;
  if (!c.children.empty()) return nullptr;
  if (c.type == Type::int96) return "of 96 bits";
  if (c.type == Type::fixed) return "of fixed length";
  if (c.converted == kDecimal) return "decimal";
  return nullptr;
}

constexpr size_t kAtOnce = size_t{1} << 18;  // bytes of lines

// One column with all its leaves, which lie one after the other.
class ColumnRows {
 public:
  ColumnRows(std::string_view file, const std::string& name, const ColumnSchema& schema,
             std::span<const ChunkInfo> chunks)
      : name_(name), schema_(schema) {
    leaves_.reserve(schema.leaves);
    add_leaves(file, schema, chunks);
  }
  // Lists end where `line` has `longest` bytes; what else they hold is passed over.
  void append(std::string& line, size_t longest) {
    if (schema_.children.empty() && !schema_.repeated) return leaves_[0].append(line);
    longest_ = longest;
    for (ColumnCursor& leaf : leaves_)
      if (leaf.more() && leaf.rep() != 0) damaged("has an element between two rows");
    value(schema_, 0, line);
  }
  // Behind the last row of a group.
  void check_end() {
    for (ColumnCursor& leaf : leaves_)
      if (leaf.more()) damaged("has more values than rows");
  }

 private:
  void add_leaves(std::string_view file, const ColumnSchema& c, std::span<const ChunkInfo> chunks) {
    if (c.children.empty()) leaves_.emplace_back(file, name_, c, chunks[leaves_.size()]);
    for (const ColumnSchema& child : c.children) add_leaves(file, child, chunks);
  }
  // Of a node whose first leaf is `leaf`.
  void value(const ColumnSchema& c, size_t leaf, std::string& line) {
    if (c.repeated) return elements(c, leaf, line, [&] { body(c, leaf, line); });
    if (c.optional && !is_there(c, leaf)) {
      skip(c, leaf);
      line += "null";
      return;
    }
    body(c, leaf, line);
  }
  void body(const ColumnSchema& c, size_t leaf, std::string& line) {
    if (c.children.empty()) return leaves_[leaf].append(line);
    const ColumnSchema& first = c.children[0];
    const bool wraps = c.children.size() == 1 && first.repeated;
    if (wraps && c.converted == kListGroup)
      return elements(first, leaf, line, [&] { element(c, first, leaf, line); });
    if (wraps && (c.converted == kMapGroup || c.converted == kMapKeyValue) && first.children.size() == 2)
      return map(first, leaf, line);
    line += '{';
    for (const ColumnSchema& child : c.children) {
      if (&child != &first) line += ',';
      append_json_string(line, child.name);
      line += ':';
      value(child, leaf, line);
      leaf += child.leaves;
    }
    line += '}';
  }
  // The repeated group of a list wraps its elements, but in files of older writers, where it is the element.
  void element(const ColumnSchema& list, const ColumnSchema& group, size_t leaf, std::string& line) {
    const bool wraps = group.children.size() == 1 && group.name != "array" && group.name != list.name + "_tuple";
    wraps ? value(group.children[0], leaf, line) : body(group, leaf, line);
  }
  void map(const ColumnSchema& pair, size_t leaf, std::string& line) {
    const size_t from = line.size();
    elements(pair, leaf, line, [&] {
      std::string key;
      value(pair.children[0], leaf, key);
      if (key.starts_with('"'))
        line += key;
      else
        append_json_string(line, key);
      line += ':';
      value(pair.children[1], leaf + pair.children[0].leaves, line);
    });
    line[from] = '{', line.back() = '}';
  }
  template <class F>
  void elements(const ColumnSchema& c, size_t leaf, std::string& line, F&& one) {
    line += '[';
    if (!is_there(c, leaf)) {
      skip(c, leaf);
    } else {
      one();
      while (goes_on(c, leaf)) {
        const size_t before = line.size();
        line += ',';
        one();
        if (before > longest_) line.resize(before);
      }
    }
    line += ']';
  }
  [[noreturn]] void damaged(const char* why) const {
    fail("{}: damaged Parquet file: column '{}' {}", name_, schema_.name, why);
  }
  // Whether another element of this list follows, by all of its leaves.
  bool goes_on(const ColumnSchema& c, size_t leaf) {
    ColumnCursor& first = leaves_[leaf];
    const bool more = first.more();
    for (size_t i = 1; i < c.leaves; ++i) {
      ColumnCursor& other = leaves_[leaf + i];
      if (other.more() != more || (more && other.rep() != first.rep())) damaged("has lists of different lengths");
    }
    return more && first.rep() == static_cast<uint32_t>(c.rep);
  }
  bool is_there(const ColumnSchema& c, size_t leaf) {
    size_t there = 0;
    for (size_t i = 0; i < c.leaves; ++i) {
      if (!leaves_[leaf + i].more()) damaged("has fewer values than rows");
      there += leaves_[leaf + i].def() >= static_cast<uint32_t>(c.def);
    }
    if (there != 0 && there != c.leaves) damaged("has a group that is there and is not");
    return there != 0;
  }
  void skip(const ColumnSchema& c, size_t leaf) {
    for (size_t i = 0; i < c.leaves; ++i) leaves_[leaf + i].skip();
  }

  const std::string& name_;
  const ColumnSchema& schema_;
  std::vector<ColumnCursor> leaves_;
  size_t longest_ = 0;
};

class ParquetLines : public ByteStream {
 public:
  ParquetLines(const std::filesystem::path& file, uint64_t max_row)
      : map_(file), name_(file.string()), max_row_(max_row) {
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
    try {
      return rows();
    } catch (const Error& e) {
      why_ = e.what();
    }
    lines_.resize(sound_);
    columns_.clear();
    lost_ = std::max<int64_t>(rows_ - row_, 1), row_ = rows_;  // damage behind the last row is one too
    return lost_rows();
  }
  // What the footer counts and no page gives is a line each that says so: no row goes without a word.
  bool lost_rows() {
    for (; lost_ > 0 && lines_.size() < kAtOnce; --lost_) lines_ += fmt::format("{}{}\n", kDamagedParquetRow, why_);
    return true;
  }
  bool rows() {
    if (lost_ > 0) return lost_rows();
    sound_ = 0;
    while (row_ == rows_) {
      for (ColumnRows& c : columns_) c.check_end();
      columns_.clear();
      if (group_ == info_.groups.size()) return false;
      const GroupInfo& g = info_.groups[group_++];
      row_ = 0, rows_ = g.rows;
      if (rows_ == 0) continue;
      heads_.clear();
      size_t leaf = 0;
      for (const ColumnSchema& c : info_.columns) {
        if (!why_left_out(c)) {
          columns_.emplace_back(bytes_, name_, c, std::span(g.chunks).subspan(leaf, c.leaves));
          std::string& head = heads_.emplace_back(heads_.empty() ? "{" : ",");
          append_json_string(head, c.name);
          head += ':';
        }
        leaf += c.leaves;
      }
    }
    for (; row_ < rows_ && lines_.size() < kAtOnce; ++row_) {
      sound_ = lines_.size();
      const size_t longest = lines_.size() + max_row_;
      if (columns_.empty()) lines_ += '{';
      for (size_t i = 0; i < columns_.size(); ++i) {
        lines_ += heads_[i];
        columns_[i].append(lines_, longest);
      }
      lines_ += "}\n";
    }
    return true;
  }
  MappedFile map_;
  std::string name_;
  uint64_t max_row_;
  std::string_view bytes_;
  FileInfo info_;
  size_t group_ = 0;
  int64_t row_ = 0, rows_ = 0, lost_ = 0;
  size_t sound_ = 0;  // bytes of lines_ that are whole rows
  std::string why_;   // rows are lost
  std::vector<ColumnRows> columns_;
  std::vector<std::string> heads_;
  std::string lines_;
  size_t at_ = 0;
};

}  // namespace

std::unique_ptr<ByteStream> open_parquet(const std::filesystem::path& file, uint64_t max_row) {
  return std::make_unique<ParquetLines>(file, max_row);
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
