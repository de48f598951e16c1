// BM25 ranking:  score(d) = Σ_t n_t · idf_t · f / (f + k1 (1 − b + b |d| / mean))   over the query's terms t, n_t
// times in the query, f times in d;  idf_t = ln(1 + (N − df_t + ½) / (df_t + ½)). rank_all adds up every posting: the
// definition. rank_top returns the same documents and the same bits but skips what cannot reach the k best: windows of
// documents, terms by falling bound, the bounds from the blocks of a window. Ties go to the earlier document.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "quern/recall/bm25/postings.h"

namespace quern::recall {

struct Bm25Options {
  double k1 = 0.9, b = 0.4;
};

struct QueryTerm {
  uint64_t key;
  uint32_t times;      // in the query
  uint64_t documents;  // with it, in the whole collection
};

struct Collection {  // what scores depend on besides the postings
  uint64_t documents = 0, words = 0;
  double mean_length() const;
};

struct RankedDocument {
  uint32_t document;
  float score;
  bool operator==(const RankedDocument&) const = default;
};

std::vector<QueryTerm> query_terms(std::span<const uint64_t> keys);  // counted, in a fixed order; documents = 0

// The k best with a score above zero, best first. `allowed`: a bit a document; empty allows all.
std::vector<RankedDocument> rank_all(const PostingsView& postings, std::span<const QueryTerm> query,
                                     const Collection& collection, const Bm25Options& options, size_t k,
                                     std::span<const uint64_t> allowed = {});
std::vector<RankedDocument> rank_top(const PostingsView& postings, std::span<const QueryTerm> query,
                                     const Collection& collection, const Bm25Options& options, size_t k,
                                     std::span<const uint64_t> allowed = {});
// The same among few documents, ascending: looks each one up.
std::vector<RankedDocument> rank_among(const PostingsView& postings, std::span<const QueryTerm> query,
                                       const Collection& collection, const Bm25Options& options, size_t k,
                                       std::span<const uint32_t> documents);

}  // namespace quern::recall
