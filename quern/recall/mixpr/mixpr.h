// MixPR (arXiv 2412.06078): retrieval by personalized PageRank, a random walk with restart at the query on a
// similarity graph of chunks, for questions whose answer is spread over several passages. "Mixture" is the restart
// probability α, chosen by the question: local (0.6: what is near it), global (0: central to the whole text, in closed
// form) and mixed (in between).
//
//   RecallIndex index = RecallIndex::build(text, chunks, {});
//   Recalled r = index.mixpr("Where is the milk?", {.k = 100});     index.bm25("milk", 10)
//
// Similarity is the cosine of TF-IDF rows, kept above a threshold; the query is a temporary node of the graph, or its
// BM25 results are where the walk restarts. When the query reaches nothing, BM25 is used, then the last chunks; the
// result says so. Cost: building is linear plus the graph (gram.h); a local query visits about 1/(α ε) in degree.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "quern/recall/bm25/postings.h"
#include "quern/recall/graph/gram.h"
#include "quern/recall/graph/resolvent.h"

namespace quern::recall {

struct RecallOptions {
  TokenOptions words{.stem = true, .drop_stopwords = true};
  Bm25Options bm25;
  bool graph = true;      // false: BM25 alone
  float threshold = 0;    // similarity that makes an edge; 0: chosen from the text, 0.1 to 0.2
  double max_work = 4e9;  // gram.h's guards
  int64_t max_neighbors = 32;
};

struct RecallStats {
  uint64_t chunks = 0, rows = 0, words = 0, terms = 0, edges = 0;
  float threshold = 0;
  GramStats gram;
  double count_s = 0, postings_s = 0, graph_s = 0;
};

enum class RecallMode { automatic, local, global, mixed, restart };
enum class SeedKind { query_node, bm25 };

struct RecallQuery {
  size_t k = 100;
  RecallMode mode = RecallMode::automatic;
  double alpha = 0.6;  // with RecallMode::restart
  SeedKind seed = SeedKind::query_node;
  double epsilon = 1e-6;     // of the push
  bool score_order = false;  // else document order, as a model wants to read
  double diversity = 0.3;    // global mode: how much likeness to what was picked costs
  size_t min_joined = 20;    // the question lowers its own threshold until it has as many neighbors
};

struct RecalledChunk {
  uint32_t chunk;  // the last of its copies: what is said again overrides what was said between
  uint32_t copies;
  double score;
};
struct Recalled {
  std::vector<RecalledChunk> chunks;
  RecallMode mode = RecallMode::local;
  double alpha = 0;
  std::string fallback;  // empty, "bm25" (nothing joined the question) or "recent" (no word of it is known)
  int64_t edges = 0;     // walked
  double weight = 1;     // how much the question has to do with this index, to set several side by side
};

// What a search reads, in memory or in a mapped segment.
struct RecallView {
  PostingsView postings;
  std::span<const float> norm;       // row → length of its TF-IDF vector
  GraphView graph;                   // empty without one
  std::span<const uint32_t> last;    // row → the last chunk that shares it
  std::span<const uint32_t> copies;  // row → chunks
  uint64_t words = 0;                // of all rows
  float threshold = 0;
  RecallOptions options;
  size_t rows() const { return last.size(); }
};

Recalled recall_mixpr(const RecallView& v, std::string_view query, const RecallQuery& q);
Recalled recall_bm25(const RecallView& v, std::string_view query, const RecallQuery& q);
// BM25 over several indices as over one: document frequencies and lengths are those of all. Per index, best first.
std::vector<std::vector<RankedDocument>> rank_across(std::span<const RecallView> views, std::string_view query,
                                                     size_t k);

class RecallIndex {
 public:
  // Chunks of text must ascend. Options are those of the words, the graph and its guards. `context`: more words of
  // each chunk (count_terms).
  static RecallIndex build(std::string_view text, std::span<const Chunk> chunks, const RecallOptions& options,
                           std::span<const std::string_view> context = {});
  Recalled mixpr(std::string_view query, const RecallQuery& q = {}) const { return recall_mixpr(view(), query, q); }
  Recalled bm25(std::string_view query, size_t k) const;
  RecallView view() const;
  const RecallStats& stats() const { return stats_; }
  uint32_t last_slab_words() const { return postings_.last_slab_words(); }

 private:
  RecallOptions options_;
  Postings postings_;
  std::vector<float> norm_;
  SparseGraph graph_;
  std::vector<uint32_t> last_, copies_;
  RecallStats stats_;
};

RecallMode recall_mode(std::string_view name);  // auto, local, global, mixed; throws Error
std::string_view name_of(RecallMode mode);
// What kind of question this is, from its words: does it ask for the whole (a summary, the main themes), and does it
// also name something rare in the collection?
enum class RareTerms : bool { none, some };
RecallMode route(std::string_view query, RareTerms rare);
// It asks for the whole and names nothing to search for: "Summarize the document", but not "Summary of changes".
bool asks_only_for_the_whole(std::string_view query);

}  // namespace quern::recall
