#include "quern/corpus/io/csv.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/corpus/io/json_line.h"

namespace quern::corpus {
namespace {

constexpr size_t kPiece = size_t{256} << 10;
constexpr size_t kMinLimit = size_t{64} << 10;
constexpr size_t kMaxNames = size_t{1} << 20;  // bytes in which a separator is looked for

// \n, \r and \r\n each end one.
uint64_t line_ends(std::string_view s) {
  uint64_t n = 0;
  for (size_t at = s.find('\n'); at != s.npos; at = s.find('\n', at + 1)) ++n;
  for (size_t at = s.find('\r'); at != s.npos; at = s.find('\r', at + 1))
    n += at + 1 == s.size() || s[at + 1] != '\n';
  return n;
}

struct FoundSeparator {
  char separator = ',';
  bool whole = false;  // the first row ends in `s`
};
FoundSeparator find_separator(std::string_view s) {
  constexpr std::string_view kSeparators = ",;\t|";
  uint64_t counts[kSeparators.size()] = {};
  FoundSeparator found;
  bool quoted = false;
  for (const char c : s) {
    if (c == '"') quoted = !quoted;
    if (quoted) continue;
    found.whole = c == '\n' || c == '\r';
    if (found.whole) break;
    if (const size_t which = kSeparators.find(c); which != kSeparators.npos) ++counts[which];
  }
  found.separator = kSeparators[static_cast<size_t>(std::ranges::max_element(counts) - counts)];
  return found;
}

// One row of `s`: its cells and its bytes, the line end with them. unfinished: it does not end in `s`.
struct CsvRow {
  std::vector<std::string> cells;
  size_t bytes = 0;
  bool unfinished = false;
};

class RowParser {
 public:
  RowParser(std::string_view s, char separator, bool ended) : s_(s), separator_(separator), ended_(ended) {}
  void read(CsvRow& row) {
    row.cells.clear(), row.unfinished = false;
    while (true) {
      row.cells.emplace_back();
      std::string& cell = row.cells.back();
      if (i_ < s_.size() && s_[i_] == '"' && !read_quoted(cell)) break;
      read_plain(cell);
      if (i_ == s_.size()) {
        row.unfinished = !ended_;
        row.bytes = i_;
        return;
      }
      if (s_[i_] != separator_) break;
      ++i_;
    }
    row.bytes = line_end(row.unfinished);
  }

 private:
  // Behind the opening quote, up to the closing one; false when there is none.
  bool read_quoted(std::string& cell) {
    for (++i_;; i_ += 2) {
      const size_t quote = s_.find('"', i_);
      cell.append(s_, i_, quote == s_.npos ? s_.npos : quote - i_);
      i_ = quote;
      if (quote == s_.npos || (quote + 1 == s_.size() && !ended_)) return false;
      if (quote + 1 == s_.size() || s_[quote + 1] != '"') break;
      cell += '"';
    }
    ++i_;
    return true;
  }
  void read_plain(std::string& cell) {
    const char ends[] = {separator_, '\n', '\r'};
    const size_t end = std::min(s_.find_first_of(std::string_view(ends, sizeof ends), i_), s_.size());
    cell.append(s_, i_, end - i_);
    i_ = end;
  }
  size_t line_end(bool& unfinished) const {
    if (i_ == s_.npos) {  // an open quote
      unfinished = true;
      return 0;
    }
    if (s_[i_] == '\n') return i_ + 1;
    if (i_ + 1 == s_.size()) {  // \r, of which \n may follow
      unfinished = !ended_;
      return i_ + 1;
    }
    return i_ + (s_[i_ + 1] == '\n' ? 2 : 1);
  }

  std::string_view s_;
  char separator_;
  bool ended_;
  size_t i_ = 0;
};

class CsvReader : public ByteStream {
 public:
  CsvReader(std::unique_ptr<ByteStream> csv, std::filesystem::path file, char separator, size_t max_row)
      : csv_(std::move(csv)), file_(std::move(file)), separator_(separator), max_row_(max_row), limit_(max_row) {}

  std::optional<uint64_t> hash() const override { return csv_->hash(); }
  size_t read(char* to, size_t n) override {
    while (out_at_ == out_.size()) {
      out_.clear(), out_at_ = 0;
      while (out_.size() < kPiece && next_row()) {
      }
      if (!out_.empty()) break;
      if (damage_) std::rethrow_exception(std::exchange(damage_, nullptr));
      return 0;
    }
    const size_t take = std::min(n, out_.size() - out_at_);
    std::memcpy(to, out_.data() + out_at_, take);
    out_at_ += take;
    return take;
  }

 private:
  std::string_view rest() const { return std::string_view(in_).substr(at_); }

  void fill() {  // as much again as is there, so that a long row is looked through a few times only
    in_.erase(0, at_);
    at_ = 0;
    const size_t before = in_.size(), want = std::max(kPiece, before);
    in_.resize(before + want);
    size_t got = 0;
    try {
      while (got < want) {
        const size_t some = csv_->read(in_.data() + before + got, want - got);
        if (some == 0) ended_ = true;
        if (some == 0) break;
        got += some;
      }
    } catch (const Error&) {
      damage_ = std::current_exception();
      ended_ = cut_ = true;
    }
    in_.resize(before + got);
  }

  // Whether there is a row; it lies in row_, or `problem` says why it is none.
  bool take_row(std::string& problem) {
    problem.clear();
    row_line_ = line_;
    while (true) {
      if (rest().empty() && !ended_) fill();
      if (rest().empty()) return false;
      RowParser(rest(), separator_, ended_).read(row_);
      if (!row_.unfinished) {
        const bool open = ended_ && row_.bytes == rest().size() && in_.back() != '\n' && in_.back() != '\r';
        if (cut_ && open) problem = "the file ends inside this row";
        pass(row_.bytes);
        limit_ = std::min(max_row_, limit_ * 2);
        return true;
      }
      if (ended_ || rest().size() > limit_) {
        problem = cut_ && !has_line_end() ? "the file ends inside this row" : "a quote that nothing closes";
        limit_ = std::max(kMinLimit, limit_ / 4);
        pass_line();
        return true;
      }
      fill();
    }
  }
  bool has_line_end() const { return rest().find('\n') != std::string_view::npos; }
  void pass_line() {
    const size_t end = rest().find('\n');
    pass(end == std::string_view::npos ? rest().size() : end + 1);
  }
  void pass(size_t bytes) {
    line_ += line_ends(rest().substr(0, bytes));
    at_ += bytes;
  }

  void read_names() {
    while (rest().size() < 4 && !ended_) fill();
    if (rest().starts_with("\xEF\xBB\xBF")) at_ += 3;
    if (rest().starts_with("\xFF\xFE") || rest().starts_with("\xFE\xFF"))
      fail("{}: the file is UTF-16: convert it to UTF-8", file_.string());
    if (separator_ == kFindSeparator) {
      FoundSeparator found = find_separator(rest());
      while (!found.whole && !ended_ && rest().size() < kMaxNames) fill(), found = find_separator(rest());
      separator_ = found.separator;
    }
    std::string problem;
    if (!take_row(problem)) return;
    if (!problem.empty()) fail("{}: the row of column names: {}", file_.string(), problem);
    std::set<std::string> seen;
    for (std::string& name : row_.cells) {
      if (name.empty()) name = fmt::format("column{}", &name - row_.cells.data());
      std::string own = name;
      for (int i = 1; !seen.insert(own).second; ++i) own = fmt::format("{}.{}", name, i);
      std::string key;
      append_json_string(key, own);
      keys_.push_back(std::move(key));
    }
  }

  bool next_row() {
    try {
      if (keys_.empty()) read_names();
    } catch (const Error&) {
      damage_ = std::current_exception();
      in_.clear(), at_ = 0, ended_ = true;
    }
    std::string problem;
    if (!take_row(problem)) return false;
    if (row_.cells.size() == 1 && row_.cells[0].empty() && keys_.size() > 1 && problem.empty()) {
      out_ += '\n';  // a blank line
      return true;
    }
    if (problem.empty() && row_.cells.size() != keys_.size())
      problem = fmt::format("{} cells where the first row names {}", row_.cells.size(), keys_.size());
    out_ += std::to_string(row_line_);
    out_ += separator_;
    if (!problem.empty()) {
      out_ += kBadCsvRow;
      out_ += problem;
    } else {
      for (size_t i = 0; i < keys_.size(); ++i) {
        out_ += i == 0 ? '{' : ',';
        out_ += keys_[i];
        out_ += ':';
        append_json_string(out_, row_.cells[i]);
      }
      out_ += '}';
    }
    out_ += '\n';
    return true;
  }

  std::unique_ptr<ByteStream> csv_;
  std::filesystem::path file_;
  char separator_;
  size_t max_row_, limit_;  // bytes of a row; in which a quote must close: fewer after one that did not
  std::string in_, out_;
  size_t at_ = 0, out_at_ = 0;
  bool ended_ = false, cut_ = false;  // cut_: by damage
  std::exception_ptr damage_;
  std::vector<std::string> keys_;
  CsvRow row_;
  uint64_t line_ = 1, row_line_ = 1;  // that the next row begins in, and row_
};

}  // namespace

CsvPlace csv_place(std::string_view row) {
  CsvPlace place;
  const auto number = std::from_chars(row.data(), row.data() + row.size(), place.line);
  place.bytes = static_cast<size_t>(number.ptr - row.data());
  if (place.bytes > 0 && place.bytes < row.size()) place.separator = row[place.bytes++];
  return place;
}

std::unique_ptr<ByteStream> csv_as_json(std::unique_ptr<ByteStream> csv, const std::filesystem::path& file,
                                        char separator, size_t max_row) {
  return std::make_unique<CsvReader>(std::move(csv), file, separator, max_row);
}

}  // namespace quern::corpus
