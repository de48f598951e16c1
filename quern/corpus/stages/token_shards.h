// Tokenizes a corpus into token shards for training: documents are tokenized on all threads and written in order in
// the format of quern data (PREFIX.bin, PREFIX.idx), each followed by the tokenizer's end token. The same inputs give
// the same bytes. PREFIX.json is the run's manifest; files of others at these names are refused. Tokens wait in PREFIX.unfinished until all are there; a killed run resumes with them.
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "quern/corpus/run/stage_run.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::corpus {

struct TokenRun {
  ScanOptions scan;
  bool end_token = true;
  std::string tokenizer;  // which one it is, in words
  std::filesystem::path prefix;
  uint64_t checkpoint_bytes = uint64_t{32} << 20;
  bool own_sources = true;  // counts go by the source that a row names, if it does; false: by that of its file
  bool rows = false;        // PREFIX.rows.jsonl.zst: what is known of every document, in the order of the tokens

  std::vector<std::string> files() const;  // that are written, by name
  std::string what() const;                // all that decides what is written, the inputs apart
};

std::string tokenizer_hash(const std::filesystem::path& folder);  // of its tokenizer.json, for TokenRun

// What a source gave: that which a row names itself, or that of its file. The first 1000 names count, and those of at
// most 256 bytes; what has another is of "others".
struct TokenSource {
  std::string name;
  uint64_t documents = 0, bytes = 0, tokens = 0;
  template <class V>
  void visit(V& v) {
    v("name", name), v("documents", documents), v("bytes", bytes), v("tokens", tokens);
  }
};

struct TokenShardReport {
  ScanReport scan;
  std::vector<TokenSource> sources;               // by name
  uint64_t documents = 0, tokens = 0, empty = 0;  // empty: documents without a token, left out
  ResumeInfo went_on;
  Json json() const;
};

// finish(report): the last thing before the run is forgotten.
TokenShardReport write_token_shards(const Inputs& inputs, const text::Tokenizer& tokenizer, const TokenRun& run,
                                    const ScanProgress& progress = {},
                                    const std::function<void(const TokenShardReport&)>& finish = {});

// The manifest of tokens that stand alone, but for the names of files. tokenizer: as the user names it.
Json token_stage_json(const std::string& tokenizer, const Inputs& inputs, const TokenShardReport& report);

// The documents of one block as tokens, for whoever has other inputs tokenized elsewhere (corpus/tasks).
struct TokenBlock {
  std::vector<int32_t> ids;
  std::vector<uint32_t> lengths;  // of documents, in tokens
  std::string rows;               // with TokenRun::rows: lines, compressed as a frame of their own
  std::vector<TokenSource> sources;
  uint64_t empty = 0;
};
// put(block): in order.
ScanReport scan_tokens(const Inputs& inputs, const text::Tokenizer& tokenizer, const TokenRun& run,
                       const std::function<void(TokenBlock&&)>& put, const ScanCallbacks& callbacks);
// What a block counted, or a list that count_in_order made; in the order of the inputs, since the first names count.
void add_source_counts(const std::vector<TokenSource>& one, std::vector<TokenSource>& to);
// Adds a block to a list in the order in which names came, which stands for all of its blocks in add_source_counts.
// False, and nothing is added, when the list is full: another one begins with this block.
bool count_in_order(const std::vector<TokenSource>& block, std::vector<TokenSource>& list);

}  // namespace quern::corpus
