// Sparse embeddings of chunks: rows of unit length (a row without words is zero) over the terms of TermCounts.
//   tf-idf   x = f · (ln((1 + n) / (1 + df)) + 1)
//   bm25     x = idf · f / (f + k1 (1 − b + b |d| / mean)), idf as in rank.h
//   hashing  tf-idf over 2^bits columns that terms are hashed to, with signs: needs no vocabulary to embed other text
// A query is embedded with the same weights; words that the collection lacks have no weight.
#pragma once
#include <memory>
#include <string_view>

#include "quern/recall/bm25/counts.h"
#include "quern/recall/bm25/rank.h"

namespace quern::recall {

struct SparseRows {
  std::vector<uint64_t> begin{0};
  std::vector<uint32_t> column;  // ascending in a row
  std::vector<float> value;
  size_t columns = 0;
  size_t rows() const { return begin.size() - 1; }
};

class SparseEmbedder {
 public:
  virtual ~SparseEmbedder() = default;
  virtual std::string_view name() const = 0;
  // The rows of t, whose document frequencies become the weights.
  virtual SparseRows embed(const TermCounts& t) = 0;
  // How much a term weighs in a query that has it once; after embed().
  virtual float query_weight(uint32_t term) const = 0;
};

std::unique_ptr<SparseEmbedder> tf_idf_embedder();
std::unique_ptr<SparseEmbedder> bm25_embedder(Bm25Options options = {});
std::unique_ptr<SparseEmbedder> hashing_embedder(int bits = 20);
std::unique_ptr<SparseEmbedder> make_embedder(std::string_view name);  // throws Error

double tf_idf_weight(uint64_t rows, uint64_t documents);
void normalize_rows(SparseRows& rows);

}  // namespace quern::recall
