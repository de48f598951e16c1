#include "quern/corpus/io/blocks.h"

#include <algorithm>
#include <cstring>

#include "quern/base/error.h"
#include "quern/corpus/io/csv.h"
#include "quern/corpus/io/parquet.h"

namespace quern::corpus {
namespace {

constexpr size_t kFill = size_t{1} << 20;
constexpr size_t kMaxRecordHead = size_t{64} << 10;

}  // namespace

std::vector<bool> block_cuts(const Inputs& inputs, size_t block_bytes) {
  std::vector<bool> cuts;
  uint64_t since = 0;
  for (const InputFile& f : inputs.files) {
    cuts.push_back((since += f.bytes) >= block_bytes);
    if (cuts.back()) since = 0;
  }
  return cuts;
}

BlockReader::BlockReader(const Inputs& inputs, ReadPolicy policy, size_t block_bytes)
    : inputs_(inputs), policy_(policy), block_bytes_(block_bytes), cuts_(block_cuts(inputs, block_bytes)) {}

std::string BlockReader::where(uint64_t line) const {
  return fmt::format("{}:{}", inputs_.files[file_].path.string(), line > 0 ? line : row_ + 1);
}

std::unique_ptr<ByteStream> BlockReader::open_file() const {
  const InputFile& f = inputs_.files[file_];
  if (f.form == InputForm::parquet) return open_parquet(f.path, policy_.max_row);
  std::unique_ptr<ByteStream> bytes = f.pipe ? read_pipe(f.pipe, f.path, hash_) : open_bytes(f.path, hash_);
  if (!is_table(f.form)) return bytes;
  return csv_as_json(std::move(bytes), f.path, f.form == InputForm::tsv ? '\t' : kFindSeparator, policy_.max_row);
}

void BlockReader::open() {
  tail_.clear();
  tail_at_ = 0, row_ = 0, filled_ = 0, ended_ = false;
  packed_ += inputs_.files[file_].bytes;
  try {
    stream_ = open_file();
  } catch (const Error& e) {  // a Parquet file without its index
    if (policy_.stop_on_bad || inputs_.files[file_].form != InputForm::parquet) throw;
    damaged_.push_back(e.what());
    stream_ = bytes_in_memory({});
  }
}

bool BlockReader::fill() {
  if (ended_) return false;
  if (tail_at_ > 0 && tail_at_ >= tail_.size() / 2) {
    tail_.drop_front(tail_at_);
    tail_at_ = 0;
  }
  // Whole pieces, whatever the stream hands out at a time: where blocks end depends on the bytes alone.
  const size_t before = tail_.size(), piece = std::min(kFill, block_bytes_);
  size_t got = 0;
  char* to = tail_.grow(piece);
  try {
    while (got < piece) {
      const size_t some = stream_->read(to + got, piece - got);
      if (some == 0) ended_ = true;
      if (some == 0) break;
      got += some;
    }
  } catch (const Error& e) {
    // Lines that were unpacked and are not in a block yet are sound. Where a WARC file is cut is told by its records.
    const std::string_view sound = std::string_view(tail_.data(), before + got).substr(tail_at_);
    const auto lines = static_cast<uint64_t>(std::ranges::count(sound, '\n'));
    const std::string why = inputs_.files[file_].form == InputForm::warc
                                ? e.what()
                                : fmt::format("{} (row {} and on)", e.what(), row_ + lines + 1);
    if (policy_.stop_on_bad) fail("{}", why);
    damaged_.push_back(why);
    ended_ = true;
  }
  tail_.shrink(before + got);
  filled_ += got;
  return got > 0;
}

void BlockReader::seek(const BlockPosition& p) {
  file_ = p.file, next_ = p.next, packed_ = p.packed, damaged_ = p.damaged;
  blocks_ = p.blocks;
  if (!p.open) return;
  if (file_ >= inputs_.files.size()) fail("expected input file {} of {}", file_ + 1, inputs_.files.size());
  stream_ = open_file();
  tail_.clear();
  char* passed = tail_.grow(kFill);
  const auto take = [&](uint64_t want, char* to) {  // to: null when the bytes are passed over
    while (want > 0) {
      const size_t some = stream_->read(to ? to : passed, to ? want : std::min<uint64_t>(want, kFill));
      if (some == 0) fail("{} became shorter during the run", inputs_.files[file_].path.string());
      want -= some;
      if (to) to += some;
    }
  };
  take(p.consumed, nullptr);
  tail_.clear();
  take(p.filled - p.consumed, tail_.grow(p.filled - p.consumed));
  tail_at_ = 0, row_ = p.row, filled_ = p.filled, ended_ = p.ended;
}

Row BlockReader::row(RecordProblem problem, size_t begin, size_t end) {
  if (row_ == kMaxRows) fail("{} has more than 2^36 records", inputs_.files[file_].path.string());
  ++next_;
  return {static_cast<uint32_t>(file_), problem, row_++, begin, end};
}

void BlockReader::long_row(Block& block, const char* what, uint64_t line) {
  if (policy_.stop_on_bad) fail("{}: a {} longer than {} bytes", where(line), what, policy_.max_row);
  block.rows.push_back(row(RecordProblem::too_long, block.bytes.size(), block.bytes.size()));
  block.rows.back().line = line;
}

// Bytes of a mark that some programs put before the first row of a file.
size_t BlockReader::byte_order_mark(std::string_view bytes) const {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return row_ == 0 && bytes.starts_with(kMark) ? kMark.size() : 0;
}

bool BlockReader::next(Block& block) {
  block.bytes.clear();
  block.rows.clear();
  block.first = next_;
  // Half of it is enough: whole lines hardly ever fill a block, and a second helping would make it twice as large.
  while (file_ < inputs_.files.size() && block.bytes.size() < (block_bytes_ + 1) / 2 &&
         block.rows.size() <= block_bytes_ / 16) {
    if (!stream_) open();
    bool more = false;
    switch (inputs_.files[file_].form) {
      case InputForm::jsonl:
      case InputForm::parquet:
      case InputForm::csv:
      case InputForm::tsv:
        more = take_lines(block);
        break;
      case InputForm::text:
      case InputForm::html:
        more = take_text(block);
        break;
      case InputForm::warc:
        more = take_records(block);
        break;
    }
    if (!more) {
      if (hash_ == FileHash::compute) hashes_.resize(inputs_.files.size());
      if (const std::optional<uint64_t> hash = stream_->hash()) hashes_[file_] = *hash;
      stream_.reset();
      if (cuts_[file_++] && !block.rows.empty()) break;
    }
  }
  blocks_ += !block.rows.empty();
  block.after = {file_,   row_,     next_,  packed_, stream_ != nullptr, ended_, filled_ - (tail_.size() - tail_at_),
                 filled_, damaged_, blocks_};
  return !block.rows.empty();
}

// Whole lines, until the block is full; false when the file has ended.
bool BlockReader::take_lines(Block& block) {
  const bool table = is_table(inputs_.files[file_].form);
  const auto place_of = [&](std::string_view line) { return table ? csv_place(line) : CsvPlace(); };
  while (true) {
    tail_.reserve(block_bytes_ + 2 * std::min(kFill, block_bytes_));
    while (!ended_ && tail_.size() - tail_at_ < block_bytes_ && fill()) {
    }
    size_t stop = tail_.view().rfind('\n');
    if (stop == std::string_view::npos || stop < tail_at_) {
      if (!ended_ && tail_.size() - tail_at_ <= policy_.max_row) {
        fill();
        continue;
      }
      if (!ended_) {  // longer than a row may be: to the next line end, keeping nothing
        long_row(block, "line", place_of(tail_.view().substr(tail_at_)).line);
        size_t end = std::string_view::npos;
        do {
          tail_.clear();
          tail_at_ = 0;
          fill();
          end = tail_.view().find('\n');
        } while (end == std::string_view::npos && !ended_);
        tail_at_ = end == std::string_view::npos ? tail_.size() : end + 1;
        return !ended_ || tail_at_ < tail_.size();
      }
      stop = tail_.size();
    } else {
      ++stop;
    }
    const bool damaged = !damaged_.empty() && ended_ && stop == tail_.size() && stop > tail_at_ &&
                         tail_.view().back() != '\n' &&
                         damaged_.back().starts_with(inputs_.files[file_].path.string());
    size_t next = block.bytes.size();
    hand_over(block, stop);
    while (next < block.bytes.size()) {
      next += byte_order_mark(block.bytes.view().substr(next));
      const size_t at = next, left = block.bytes.size() - at;
      const char* begin = block.bytes.data() + at;
      const void* nl = std::memchr(begin, '\n', left);
      size_t n = nl ? static_cast<size_t>(static_cast<const char*>(nl) - begin) : left;
      next += n + (nl != nullptr);
      const CsvPlace place = place_of({begin, n});
      if (n - place.bytes > policy_.max_row) {
        long_row(block, "line", place.line);
        continue;
      }
      if (n > 0 && begin[n - 1] == '\r') --n;
      const bool blank = std::string_view(begin, n).find_first_not_of(" \t") == std::string_view::npos;
      block.rows.push_back(row(blank            ? RecordProblem::blank
                               : damaged && !nl ? RecordProblem::cut
                                                : RecordProblem::none,
                               at + place.bytes, at + n));
      block.rows.back().line = place.line, block.rows.back().separator = place.separator;
    }
    return !ended_ || tail_at_ < tail_.size();
  }
}

// The tail up to `stop` goes into the block: an empty one takes the buffer itself, and what is behind is copied.
void BlockReader::hand_over(Block& block, size_t stop) {
  if (block.bytes.size() > 0 || tail_at_ > 0) {
    block.bytes.append(tail_.view().substr(tail_at_, stop - tail_at_));
    tail_at_ = stop;
    return;
  }
  block.bytes.swap(tail_);
  tail_.clear();
  tail_.reserve(block_bytes_ + 2 * std::min(kFill, block_bytes_));
  tail_.append(block.bytes.view().substr(stop));
  block.bytes.shrink(stop);
}

// The whole file is one row.
bool BlockReader::take_text(Block& block) {
  while (tail_.size() <= policy_.max_row && fill()) {
  }
  if (tail_.size() > policy_.max_row) {
    long_row(block, "file");
    return false;
  }
  const bool damaged = !damaged_.empty() && damaged_.back().starts_with(inputs_.files[file_].path.string());
  const std::string_view text = tail_.view().substr(byte_order_mark(tail_.view()));
  const size_t base = block.bytes.size();
  block.bytes.append(text);
  block.rows.push_back(row(damaged        ? RecordProblem::cut
                           : text.empty() ? RecordProblem::blank
                                          : RecordProblem::none,
                           base, block.bytes.size()));
  return false;
}

// One WARC record: head lines, a blank line, Content-Length bytes, a blank line.
bool BlockReader::take_records(Block& block) {
  auto stop_here = [&](const std::string& why) {
    const std::string what = fmt::format("{}: {}", where(), why);
    if (policy_.stop_on_bad) fail("{}", what);
    damaged_.push_back(what);
    return false;
  };
  auto give_up = [&](const std::string& why) {  // the record counts
    stop_here(why);
    block.rows.push_back(row(RecordProblem::cut, block.bytes.size(), block.bytes.size()));
    return false;
  };
  auto skip = [&](uint64_t n) {  // false when the file ends first
    while (n > 0) {
      if (tail_at_ == tail_.size() && !fill()) return false;
      const size_t step = std::min<uint64_t>(n, tail_.size() - tail_at_);
      tail_at_ += step;
      n -= step;
    }
    return true;
  };
  while (true) {  // line ends between records
    if (tail_at_ == tail_.size() && !fill()) return false;
    if (tail_.data()[tail_at_] != '\r' && tail_.data()[tail_at_] != '\n') break;
    ++tail_at_;
  }
  size_t stop = std::string_view::npos;
  while ((stop = tail_.view().find("\r\n\r\n", tail_at_)) == std::string_view::npos) {
    if (tail_.size() - tail_at_ > kMaxRecordHead) return give_up("a WARC record's head is longer than 64 KiB");
    if (!fill()) return give_up("the file ends inside a WARC record's head");
  }
  const std::string bytes(tail_.view().substr(tail_at_, stop - tail_at_));
  const WarcHead head = read_warc_head(std::string_view(bytes).substr(byte_order_mark(bytes)));
  if (head.problem) return pass_over(block, head.problem);
  tail_at_ = stop + 4;
  if (head.kind == WarcKind::other || head.length > policy_.max_row) {
    if (head.kind != WarcKind::other)
      long_row(block, "record");
    else
      block.rows.push_back(row(RecordProblem::not_text, block.bytes.size(), block.bytes.size()));
    return skip(head.length) || stop_here("the file ends inside a WARC record");
  }
  while (tail_.size() - tail_at_ < head.length)
    if (!fill()) return give_up("the file ends inside a WARC record");
  return take_record_body(block, head);
}

// From what is no record to the next line that begins one; all of it counts as one damaged record.
bool BlockReader::pass_over(Block& block, const char* why) {
  if (policy_.stop_on_bad) fail("{}: {}", where(), why);
  block.rows.push_back(row(RecordProblem::damaged, block.bytes.size(), block.bytes.size()));
  constexpr std::string_view kBegin = "\nWARC/1.";
  while (true) {
    const size_t at = tail_.view().find(kBegin, tail_at_);
    if (at != std::string_view::npos) {
      tail_at_ = at + 1;
      return true;
    }
    tail_at_ = std::max(tail_at_, tail_.size() - std::min(tail_.size(), kBegin.size()));
    if (!fill()) {
      damaged_.push_back(fmt::format("{}: {}, and no other record follows", where(), why));
      return false;
    }
  }
}

// URL and date come before the body, and the type of a resource as an HTTP response would have it.
bool BlockReader::take_record_body(Block& block, const WarcHead& head) {
  const std::string origin = fmt::format("{}\n{}\n", head.url, head.date);
  block.bytes.append(origin);
  const size_t begin = block.bytes.size();
  if (head.kind == WarcKind::resource)
    block.bytes.append(fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\n\r\n", head.type));
  block.bytes.append(tail_.view().substr(tail_at_, head.length));
  tail_at_ += head.length;
  block.rows.push_back(row(head.length == 0 ? RecordProblem::blank : RecordProblem::none, begin, block.bytes.size()));
  Row& r = block.rows.back();
  r.head = origin.size(), r.truncated = head.truncated, r.response = head.kind != WarcKind::text;
  return true;
}

}  // namespace quern::corpus
