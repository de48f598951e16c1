// Term counts: the sparse matrix of terms by chunks from which postings, embeddings and the graph are made. Chunks
// with the same words the same number of times share one row, so that a text repeated 10⁵ times costs one. Terms are
// numbered by rising document frequency (rarest first, ties by key), rows list theirs in that order; nothing depends
// on the number of threads. Cost: words are hashed, distributed over 64 shares of the keys, and numbered share by
// share in tables that fit the second-level cache, all in parallel; 30 to 60 ns per word and thread.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "quern/recall/words/chunker.h"
#include "quern/recall/words/key_map.h"
#include "quern/recall/words/tokens.h"

namespace quern::recall {

struct TermCounts {
  std::vector<uint64_t> begin{0};  // row r: [begin[r], begin[r + 1])
  std::vector<uint32_t> term, count;
  std::vector<uint32_t> length;     // row → words
  std::vector<uint32_t> copies;     // row → chunks that share it
  std::vector<uint32_t> row;        // chunk → row
  std::vector<uint32_t> documents;  // term → rows with it
  std::vector<uint64_t> keys;       // term → key
  size_t rows() const { return length.size(); }
  size_t terms() const { return documents.size(); }
};

// `context`: more words of each chunk, as of the headings above it; empty, or one per chunk.
TermCounts count_terms(std::string_view text, std::span<const Chunk> chunks, const TokenOptions& options,
                       std::span<const std::string_view> context = {});

}  // namespace quern::recall
