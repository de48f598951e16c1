// Tokens as tasks. A shard's tokens, lengths and rows are written as their files will have them; then every task copies a
// range of bytes of each file from the shards that lie there, and computes its range of the index from their lengths.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/tasks/joined_file.h"
#include "quern/corpus/tasks/later_plan.h"
#include "quern/corpus/tasks/record_streams.h"
#include "quern/corpus/tasks/task_results.h"
#include "quern/data/indexed.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char *kTokens = "tokens", *kLengths = "lengths", *kRows = "rows", *kSources = "sources";

struct TokenResult {
  uint64_t documents = 0, tokens = 0, empty = 0, type = 0, rows = 0;  // rows: bytes of frames
  ReadCounts read;
  std::vector<std::string> damaged;
  template <class V>
  void visit(V& v) {
    v("documents", documents), v("tokens", tokens), v("empty", empty), v("type", type), v("rows", rows);
    v("read", read), v("damaged", damaged);
  }
};

// Counts by source, a line for as many blocks as one list has room for.
class SourceLists {
 public:
  explicit SourceLists(const fs::path& file) : out_(SpillFile::named(file, 0)) {}
  void add(const std::vector<TokenSource>& block) {
    if (count_in_order(block, list_)) return;
    write();
    count_in_order(block, list_);
  }
  void close() { write(), out_.flush(); }

 private:
  void write() {
    const std::string line = write_value(list_).dump() + "\n";
    out_.append(line.data(), line.size());
    list_.clear();
  }
  SpillFile out_;
  std::vector<TokenSource> list_;
};

// The ids of a shard, as PREFIX.bin has them.
class ShardTokens {
 public:
  ShardTokens(const fs::path& folder, data::TokenType type, fs::path prefix)
      : type_(type),
        prefix_(std::move(prefix)),
        tokens_(SpillFile::named(folder / kTokens, 0)),
        lengths_(SpillFile::named(folder / kLengths, 0)),
        rows_(SpillFile::named(folder / kRows, 0)) {}
  void add(const TokenBlock& b, TokenResult& r) {
    size_t at = 0;
    buffer_.clear();
    for (const uint32_t length : b.lengths) {
      data::append_tokens(std::span(b.ids).subspan(at, length), type_, prefix_, buffer_);
      at += length;
    }
    tokens_.append(buffer_.data(), buffer_.size());
    lengths_.append(b.lengths.data(), b.lengths.size() * sizeof(uint32_t));
    rows_.append(b.rows.data(), b.rows.size());
    r.documents += b.lengths.size(), r.tokens += b.ids.size(), r.empty += b.empty, r.rows += b.rows.size();
  }
  void flush() { tokens_.flush(), lengths_.flush(), rows_.flush(); }

 private:
  data::TokenType type_;
  fs::path prefix_;
  SpillFile tokens_, lengths_, rows_;
  std::vector<std::byte> buffer_;
};

}  // namespace

void tokenize_task(TaskWork& w) {
  const TokenJob job = token_job(w.plan);
  if (job.run.tokenizer != w.plan.models) fail("the tokenizer is not as it was planned: plan again");
  const text::Tokenizer tokenizer = text::Tokenizer::load(job.tokenizer);
  const data::TokenType type = data::token_type_for(tokenizer.vocab_size());
  const Json from = w.scan_from();
  TokenResult result;
  result.type = static_cast<uint64_t>(type);
  ShardTokens shard(w.folder, type, job.run.prefix);
  SourceLists sources(w.folder / kSources);
  ScanReport scan = scan_tokens(
      w.up_to_shard(), tokenizer, job.run,
      [&](TokenBlock&& b) {
        shard.add(b, result);
        sources.add(b.sources);
      },
      part_of_scan(from));
  shard.flush(), sources.close();
  result.read = std::move(scan.read), result.damaged = std::move(scan.damaged);
  w.save_result(result);
}

namespace {

// PREFIX.idx from the lengths of all shards: a header; lengths, offsets in bytes and marks of documents.
class IndexBytes {
 public:
  IndexBytes(const TaskWork& w, const std::vector<TokenResult>& shards) : w_(w), shards_(shards) {
    for (const TokenResult& s : shards) documents_ += s.documents;
    type_ = static_cast<data::TokenType>(shards.at(0).type);
    header_ = data::index_header(type_, documents_);
    go_to(0);
  }
  uint64_t size() const { return header_.size() + documents_ * 12 + (documents_ + 1) * 8; }

  void fill(uint64_t at, char* to, size_t n) {
    const uint64_t lengths = header_.size(), offsets = lengths + documents_ * 4, marks = offsets + documents_ * 8;
    const Wanted wanted{at, to, n};
    put(wanted, 0, header_.data(), header_.size());
    each<int32_t>(wanted, lengths, documents_, [&](uint64_t d) { return go_to(d), static_cast<int32_t>(length_); });
    each<int64_t>(wanted, offsets, documents_, [&](uint64_t d) {
      go_to(d);
      return static_cast<int64_t>(tokens_) * data::token_type_size(type_);
    });
    each<int64_t>(wanted, marks, documents_ + 1, [](uint64_t d) { return static_cast<int64_t>(d); });
  }

 private:
  struct Wanted {
    uint64_t at;
    char* to;
    size_t n;
  };
  // What of these bytes, which lie at `begin` of the index, is wanted.
  static void put(const Wanted& w, uint64_t begin, const char* bytes, size_t n) {
    const uint64_t from = std::max(begin, w.at), end = std::min(begin + n, w.at + w.n);
    if (from < end) std::memcpy(w.to + (from - w.at), bytes + (from - begin), end - from);
  }
  template <class T, class F>
  static void each(const Wanted& w, uint64_t begin, uint64_t count, F&& value) {
    const uint64_t from = w.at > begin ? (w.at - begin) / sizeof(T) : 0;
    for (uint64_t i = from; i < count && begin + i * sizeof(T) < w.at + w.n; ++i) {
      const T v = value(i);
      put(w, begin + i * sizeof(T), reinterpret_cast<const char*>(&v), sizeof v);
    }
  }
  // length_ of a document, and tokens_ of all before it. Shards before are passed over by their sums.
  void go_to(uint64_t document) {
    if (documents_ == 0) return;
    if (!reader_ || document < next_ - 1) begin_shard(0, 0, 0);
    while (document >= first_ + shards_[shard_].documents)
      begin_shard(shard_ + 1, first_ + shards_[shard_].documents, tokens_of_shards_ + shards_[shard_].tokens);
    while (next_ <= document) {
      tokens_ += length_;
      if (!reader_->next(length_)) fail("{}: fewer documents than were counted", w_.of("tokenize", shard_).string());
      ++next_;
    }
  }
  void begin_shard(size_t shard, uint64_t first, uint64_t tokens) {
    shard_ = shard, first_ = next_ = first, tokens_ = tokens_of_shards_ = tokens, length_ = 0;
    reader_.reset();
    file_ = SpillFile::existing(w_.of("tokenize", shard) / kLengths);
    reader_.emplace(file_);
  }

  const TaskWork& w_;
  const std::vector<TokenResult>& shards_;
  uint64_t documents_ = 0;
  data::TokenType type_;
  std::string header_;
  size_t shard_ = 0;
  SpillFile file_;
  std::optional<RecordReader<uint32_t>> reader_;
  uint64_t first_ = 0, next_ = 0, tokens_ = 0, tokens_of_shards_ = 0;
  uint32_t length_ = 0;
};

std::vector<TokenResult> all_shards(const TaskWork& w) {
  std::vector<TokenResult> all;
  for (uint64_t t = 0; t < w.tasks("tokenize"); ++t) all.push_back(w.result<TokenResult>("tokenize", t));
  return all;
}

JoinedFiles joined(const TaskWork& w, const char* name) {
  JoinedFiles all;
  for (uint64_t t = 0; t < w.tasks("tokenize"); ++t) all.add(w.of("tokenize", t) / name);
  return all;
}

bool has_rows(const TaskPlan& plan) { return plan.recipe.tokenize->rows; }

// Where all tasks write, until the last one gives it its name.
fs::path part_of(const TaskWork& w, const char* suffix) { return w.plan.work() / ("whole" + std::string(suffix)); }
constexpr const char *kBin = ".bin", *kIdx = ".idx", *kRowsFile = ".rows.jsonl.zst";

}  // namespace

void concat_task(TaskWork& w) {
  const std::vector<TokenResult> shards = all_shards(w);
  want_open_files(2 * shards.size() + 64);
  const auto share = [&](const char* suffix, uint64_t bytes, const FillBytes& fill) {
    write_range(part_of(w, suffix), joined_range(bytes, w.tasks("concat"), w.index), fill);
  };
  const auto copy = [&](const char* suffix, const JoinedFiles& from) {
    share(suffix, from.size(), [&](uint64_t at, char* to, size_t n) { from.read(at, to, n); });
  };
  copy(kBin, joined(w, kTokens));
  IndexBytes index(w, shards);
  share(kIdx, index.size(), [&](uint64_t at, char* to, size_t n) { index.fill(at, to, n); });
  if (has_rows(w.plan)) {
    const JoinedFiles rows = joined(w, kRows);
    std::string nothing;
    if (rows.size() == 0) zstd_frame({}, StageOutput().level, nothing);  // an empty file is one empty frame
    if (rows.size() > 0)
      copy(kRowsFile, rows);
    else
      share(kRowsFile, nothing.size(), [&](uint64_t at, char* to, size_t n) { nothing.copy(to, n, at); });
  }
  w.save(Json::object());
}

namespace {

TokenShardReport whole_report(const TaskWork& w) {
  TokenShardReport r;
  for (uint64_t t = 0; t < w.tasks("tokenize"); ++t) {
    const auto one = w.result<TokenResult>("tokenize", t);
    r.documents += one.documents, r.tokens += one.tokens, r.empty += one.empty;
    r.scan.read.add(one.read);
    r.scan.damaged.insert(r.scan.damaged.end(), one.damaged.begin(), one.damaged.end());
    std::ifstream lists(w.of("tokenize", t) / kSources);
    for (std::string line; std::getline(lists, line);) {
      std::vector<TokenSource> list;
      read_state(Json::parse(line), list);
      add_source_counts(list, r.sources);
    }
  }
  return r;
}

}  // namespace

void finish_tokens_task(TaskWork& w) {
  TokenShardReport r = whole_report(w);
  const Inputs in = w.plan.inputs();
  refuse_when_all_is_lost(in, r.scan.read, r.scan.damaged);
  const std::string name = fs::path(w.plan.out).filename().string();
  if (has_rows(w.plan)) move_part(w, part_of(w, kRowsFile), {name + kRowsFile});
  move_part(w, part_of(w, kBin), {name + kBin});
  move_part(w, part_of(w, kIdx), {name + kIdx});
  Json m;
  if (w.plan.build) {
    m = tokens_json(w.plan.recipe, r);
    add_later_counters(w);
  } else {
    m = token_stage_json(w.plan.tokens->tokenizer, in, r);
    m.set("plan", plan_json(w));
  }
  write_file(w.plan.manifest(), with_files(m, w.plan.unfinished()).dump(2) + "\n");
  w.tokens = std::move(r);
}

}  // namespace quern::corpus
