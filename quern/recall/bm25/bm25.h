// In-memory BM25 index: added documents are found at once, and a removed document is gone from postings and
// statistics, as if it had never been there. Documents have the caller's ids. Reading from several threads is safe
// while none writes. Cost: add is linear in the text; remove is one pass over the whole index however many ids it
// takes; top skips what cannot be among the k best (rank.h).
//
//   Bm25Index index;
//   index.add(7, "the mill by the river");
//   for (const ScoredDocument& d : index.top("river mills", 10)) …
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/recall/bm25/postings.h"
#include "quern/recall/bm25/rank.h"
#include "quern/recall/words/tokens.h"

namespace quern::recall {

struct ScoredDocument {
  int64_t id;
  float score;
  bool operator==(const ScoredDocument&) const = default;
};

// One of several indices that are searched as one: document d of the postings is ids[d], ids ascend.
struct Bm25Part {
  PostingsView postings;
  std::span<const int64_t> ids;
  uint64_t words = 0;
};
// The k best of all parts, best first, ties to the smaller id; frequencies and lengths are those of all parts
// together. `allowed` as in Bm25Index::top.
std::vector<ScoredDocument> top_across(std::span<const Bm25Part> parts, const TokenOptions& words,
                                       const Bm25Options& options, std::string_view query, size_t k,
                                       std::optional<std::span<const int64_t>> allowed = std::nullopt);

class Bm25Index {
 public:
  explicit Bm25Index(TokenOptions words = {.stem = true, .drop_stopwords = true}, Bm25Options options = {});
  void add(int64_t id, std::string_view text);  // throws Error when the id is there already
  size_t remove(std::span<const int64_t> ids);  // returns how many were there
  bool remove(int64_t id) { return remove(std::span(&id, 1)) == 1; }
  // The k best with a score above zero, best first, ties to the one added earlier. `allowed`: ids in ascending order,
  // without repetition; others are passed over (ids that are not in the index do no harm).
  std::vector<ScoredDocument> top(std::string_view query, size_t k,
                                  std::optional<std::span<const int64_t>> allowed = std::nullopt) const;
  size_t size() const { return ids_.size(); }
  uint64_t words() const { return postings_.words(); }
  size_t bytes() const;
  const Postings& postings() const { return postings_; }
  Bm25Part part() const;  // while ids were added in ascending order
  const TokenOptions& token_options() const { return keys_.options(); }
  const Bm25Options& options() const { return options_; }

 private:
  uint32_t document_of(int64_t id) const;  // KeyMap::kNone when absent
  WordKeys keys_;
  Bm25Options options_;
  Postings postings_;
  std::vector<int64_t> ids_;  // by document
  KeyMap documents_;          // id → document, unused while ids ascend
  bool ascending_ = true;
  std::vector<uint64_t> scratch_;
};

}  // namespace quern::recall
