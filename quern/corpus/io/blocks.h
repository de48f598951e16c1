// Reads records of the inputs in order, in blocks of some MiB. A record is a line of JSONL, a row of CSV, a text file, a web
// page or a WARC record; records are numbered over all inputs, invalid ones too, so that two passes over the same files number alike.
// An unreadable record is never dropped silently: it is an Error or, by policy, counted with its reason. Cost: the
// reader decompresses and finds line ends (about 1 GB/s for zstd); the rest is done by the thread that takes the
// block.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/corpus/bytes/byte_buffer.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/io/inputs.h"
#include "quern/corpus/io/warc_record.h"

namespace quern::corpus {

// not_text: what WARC says of itself. other_type: a picture, a redirection, whatever else a server sends. empty_page: without
// main text.
enum class RecordProblem : uint8_t {
  none,
  blank,
  bad_json,
  no_text,
  bad_utf8,
  too_long,
  not_text,
  cut,
  other_type,
  empty_page,
  bad_body,
  bad_csv,
  bad_field,  // not the text: a label that was asked for, a source
  damaged     // in a part of the file that cannot be read
};
constexpr int kRecordProblems = 14;
const char* record_problem_name(RecordProblem p);

struct ReadPolicy {
  // An Error: bad JSON, no text field, invalid UTF-8, too long, cut short, and JSON as only Python has
  // it, which is mended otherwise (mend_json_line).
  bool stop_on_bad = false;
  bool replace_utf8 = false;              // invalid UTF-8 becomes U+FFFD (counted) and the row stays
  uint64_t max_row = uint64_t{64} << 20;  // bytes of a row
};

struct Row {
  uint32_t file = 0;
  RecordProblem problem = RecordProblem::none;
  uint64_t row = 0;           // within its file
  size_t begin = 0, end = 0;  // its bytes in Block::bytes
  size_t head = 0;            // bytes right before them: URL and date of a WARC record, each with a line end
  bool response = false;      // an HTTP response, of a WARC record
  bool truncated = false;     // by whoever stored it
  uint64_t line = 0;          // of CSV, whose rows may have several: the line that it begins in, from 1; 0: row + 1
  char separator = ',';       // of CSV
  uint64_t place() const { return line > 0 ? line : row + 1; }
};

// Where a reader stands between two blocks: what it takes to go on from there in another process, with the same
// blocks.
struct BlockPosition {
  uint64_t file = 0, row = 0, next = 0, packed = 0;
  bool open = false, ended = false;   // the file has been begun; all of it has been unpacked
  uint64_t consumed = 0, filled = 0;  // unpacked bytes of the file that blocks hold; that were read
  std::vector<std::string> damaged = {};
  uint64_t blocks = 0;  // so far
  template <class V>
  void visit(V& v) {
    v("blocks", blocks), v("file", file), v("row", row), v("next", next), v("packed", packed), v("open", open),
        v("ended", ended);
    v("consumed", consumed), v("filled", filled), v("damaged", damaged);
  }
};

struct Block {
  uint64_t first = 0;  // number of the first row, over all inputs
  BlockPosition after;
  ByteBuffer bytes;
  std::vector<Row> rows;
  std::string_view text(const Row& r) const { return bytes.view().substr(r.begin, r.end - r.begin); }
  std::string_view head(const Row& r) const { return bytes.view().substr(r.begin - r.head, r.head); }
};

// Behind which files a block ends in any case: wherever files of `block_bytes` and more lie behind the cut before. Who
// reads the files between two cuts alone has the blocks that are read of all of them.
std::vector<bool> block_cuts(const Inputs& inputs, size_t block_bytes);

class BlockReader {
 public:
  BlockReader(const Inputs& inputs, ReadPolicy policy, size_t block_bytes = size_t{4} << 20);
  bool next(Block& block);                                              // false at the end
  void seek(const BlockPosition& position);                             // before the first block
  uint64_t packed_bytes() const { return packed_; }                     // of the files begun so far
  const std::vector<std::string>& damaged() const { return damaged_; }  // files that ended early, with the reason
  void want_hashes() { hash_ = FileHash::compute; }                     // before the first block
  uint64_t hash(size_t file) const { return file < hashes_.size() ? hashes_[file] : 0; }  // 0: not read to its end

 private:
  bool fill();  // more bytes into tail_; false at the end of the file
  void open();
  std::unique_ptr<ByteStream> open_file() const;
  bool take_lines(Block& block);
  void hand_over(Block& block, size_t stop);
  size_t byte_order_mark(std::string_view bytes) const;
  bool take_text(Block& block);
  bool take_records(Block& block);
  bool take_record_body(Block& block, const WarcHead& head);
  bool pass_over(Block& block, const char* why);
  void long_row(Block& block, const char* what, uint64_t line = 0);
  Row row(RecordProblem problem, size_t begin, size_t end);
  std::string where(uint64_t line = 0) const;  // 0: the next row

  const Inputs& inputs_;
  ReadPolicy policy_;
  size_t block_bytes_;
  std::vector<bool> cuts_;
  size_t file_ = 0;
  std::unique_ptr<ByteStream> stream_;
  ByteBuffer tail_;  // bytes read and not yet in a block
  size_t tail_at_ = 0;
  bool ended_ = false;  // the file has no more bytes
  uint64_t row_ = 0, next_ = 0, packed_ = 0, filled_ = 0, blocks_ = 0;
  std::vector<std::string> damaged_;
  FileHash hash_ = FileHash::skip;
  std::vector<uint64_t> hashes_;
};

// Whether a record of this kind is lost: a blank line is none, what WARC says of itself is no document, and pictures and
// pages without text never were text.
constexpr bool is_bad(RecordProblem p) {
  return p != RecordProblem::none && p != RecordProblem::blank && p != RecordProblem::not_text &&
         p != RecordProblem::other_type && p != RecordProblem::empty_page;
}

struct FileRows {
  uint64_t file = 0, documents = 0, bad = 0, others = 0;  // others: of another type
  uint64_t no_url = 0;  // documents without the field of the URL, where one is asked for
  template <class V>
  void visit(V& v) {
    v("file", file), v("documents", documents), v("bad", bad), v("others", others), v("no_url", no_url);
  }
};
struct TypeCount {
  std::string type;  // "image/png", "HTTP 404"
  uint64_t rows = 0;
  template <class V>
  void visit(V& v) {
    v("type", type), v("rows", rows);
  }
};
struct BadRow {
  uint64_t file = 0;
  std::string text;  // "file:line: why"
  template <class V>
  void visit(V& v) {
    v("file", file), v("text", text);
  }
};

// Documents counted as they are read; added up over blocks, in any order.
struct ReadCounts {
  uint64_t rows = 0, documents = 0, text_bytes = 0;
  uint64_t replaced = 0, mended = 0;  // documents with U+FFFD put in for bytes; from mended JSON
  uint64_t unscored = 0;              // documents without the number that was asked for
  uint64_t own_ids = 0;               // documents that bring an id
  uint64_t guessed = 0;               // pages of bytes that are not UTF-8 and that say no encoding
  uint64_t no_field = 0;              // of the rows without text: those that do not have its field
  uint64_t truncated = 0;             // documents whose end is missing, and is said to be
  std::string first_truncated;        // "file:row"
  std::vector<TypeCount> types;       // of the records of another type; the last of many is "others"
  uint64_t problems[kRecordProblems] = {};
  std::vector<BadRow> examples;  // the first few of each of the first few files that have any
  std::vector<FileRows> files;   // ascending; those without documents and bad rows are not there
  template <class V>
  void visit(V& v) {
    v("rows", rows), v("documents", documents), v("text_bytes", text_bytes), v("replaced", replaced);
    v("json_fixed", mended), v("no_field", no_field), v("unscored", unscored), v("own_ids", own_ids);
    v("guessed_encoding", guessed);
    v("truncated", truncated), v("first_truncated", first_truncated), v("types", types);
    v("problems", problems), v("examples", examples), v("files", files);
  }
  void add(const ReadCounts& o);
  void example(const Row& row, const InputFile& file, const std::string& why);
  void count(uint64_t file, RecordProblem p);
  void count_without_url(uint64_t file) { ++of_file(file).no_url; }
  void count_type(const std::string& type, uint64_t rows = 1);
  uint64_t bad() const;
  Json json() const;

 private:
  FileRows& of_file(uint64_t file);
  void keep(const BadRow& row);
};

// inputs.json(), with the numbers of documents and of invalid records of each.
Json inputs_json(const Inputs& inputs, const ReadCounts& read);
// The files that hold records and gave no document.
std::vector<std::string> lost_inputs(const Inputs& inputs, const ReadCounts& read,
                                     const std::vector<std::string>& damaged);
// The sources that were asked for a field of the URL and have it in none of their rows.
std::vector<std::string> sources_without_url(const Inputs& inputs, const ReadCounts& read);
std::string types_in_words(const ReadCounts& read);  // "12 image/png, 3 HTTP 404"
// An Error when there are records and none of them is a document: a field's name is wrong, or the format.
void refuse_when_all_is_lost(const Inputs& inputs, const ReadCounts& read, const std::vector<std::string>& damaged);

}  // namespace quern::corpus
