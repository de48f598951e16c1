// MixPR: chains of chunks that share no word with the question are found, modes are told apart, fallbacks say so,
// copies and order behave, and the walk from the question is the one over the graph with the question in it.
#include "quern/recall/mixpr/mixpr.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "quern/base/test_message.h"

namespace quern::recall {
namespace {

struct Lines {
  std::string text;
  std::vector<Chunk> chunks;
  explicit Lines(const std::vector<std::string>& lines) {
    for (const std::string& l : lines) text += l + "\n";
    chunks = chunk_text(text, {.unit = ChunkUnit::line});
  }
};

std::vector<uint32_t> chunks_of(const Recalled& r) {
  std::vector<uint32_t> out;
  for (const RecalledChunk& c : r.chunks) out.push_back(c.chunk);
  return out;
}

std::vector<std::string> story() {
  std::vector<std::string> lines;
  Rng rng(3);
  for (int i = 0; i < 400; ++i)
    lines.push_back(fmt::format("noise{} noise{} noise{} rain", rng.below(300), rng.below(300), rng.below(300)));
  lines[50] = "Mara took the lantern";
  lines[200] = "Mara walked to the orchard";
  lines[350] = "orchard belongs to Tobias";
  return lines;
}

TEST(MixPr, FollowsAChain) {
  const Lines l(story());
  const RecallIndex index = RecallIndex::build(l.text, l.chunks, {});
  RecallQuery q;
  q.k = 3;
  q.min_joined = 1;
  const Recalled r = index.mixpr("Where is the lantern?", q);
  EXPECT_EQ(r.mode, RecallMode::local);
  EXPECT_EQ(r.fallback, "");
  EXPECT_EQ(chunks_of(r), (std::vector<uint32_t>{50, 200, 350}));  // document order
  q.score_order = true;
  EXPECT_EQ(chunks_of(index.mixpr("Where is the lantern?", q)), (std::vector<uint32_t>{50, 200, 350}));
  EXPECT_EQ(chunks_of(index.bm25("Where is the lantern?", 3)), (std::vector<uint32_t>{50}));
  q.seed = SeedKind::bm25;
  EXPECT_EQ(chunks_of(index.mixpr("Where is the lantern?", q)), (std::vector<uint32_t>{50, 200, 350}));
}

TEST(MixPr, AlphaOneIsTheOrderOfTheSeedAndSmallAlphaSpreads) {
  const Lines l(story());
  const RecallIndex index = RecallIndex::build(l.text, l.chunks, {});
  RecallQuery q;
  q.k = 20, q.score_order = true, q.mode = RecallMode::restart, q.seed = SeedKind::bm25, q.alpha = 1;
  q.epsilon = 1e-12;
  EXPECT_EQ(chunks_of(index.mixpr("noise7 noise9 rain", q)), chunks_of(index.bm25("noise7 noise9 rain", 20)));
  q.alpha = 0.1;
  EXPECT_NE(chunks_of(index.mixpr("noise7 noise9 rain", q)), chunks_of(index.bm25("noise7 noise9 rain", 20)));
}

TEST(MixPr, TheWalkIsThatOverTheGraphWithTheQuestionInIt) {
  const auto lines = story();
  const Lines l(lines);
  RecallOptions o;
  o.threshold = 0.2f, o.words = {};
  const RecallIndex index = RecallIndex::build(l.text, l.chunks, o);
  // The same by hand: cosines against the collection's weights, the question as one node more, power iteration.
  const std::string question = "noise5 lantern noise17";
  const TermCounts counts = count_terms(l.text, l.chunks, {});
  const SparseRows x = tf_idf_embedder()->embed(counts);
  const SparseGraph g = gram_all(x, 0.2f);
  std::vector<double> weight(counts.terms());
  double square = 0;
  for (const std::string& w : words_of(question))
    for (size_t v = 0; v < counts.terms(); ++v)
      if (counts.keys[v] == word_key(w)) weight[v] += tf_idf_weight(counts.rows(), counts.documents[v]);
  for (const double w : weight) square += w * w;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::vector<float> weights;
  const auto n = static_cast<uint32_t>(counts.rows());
  for (uint32_t r = 0; r < n; ++r) {
    double s = 0;
    for (uint64_t i = x.begin[r]; i < x.begin[r + 1]; ++i) s += weight[x.column[i]] * double{x.value[i]};
    s /= std::sqrt(square);
    for (uint64_t i = g.begin[r]; i < g.begin[r + 1]; ++i)
      edges.emplace_back(r, g.to[i]), weights.push_back(g.weight[i]);
    if (s < 0.2) continue;
    edges.emplace_back(r, n), weights.push_back(static_cast<float>(s));
    edges.emplace_back(n, r), weights.push_back(static_cast<float>(s));
  }
  edges.emplace_back(n, n), weights.push_back(1);
  const SparseGraph with = graph_of(n + 1, edges, weights);
  std::vector<double> seed(n + 1);
  seed[n] = 1;
  const auto pi = Resolvent(with.view()).row(seed, {0.6});
  RecallQuery q;
  q.min_joined = 0, q.epsilon = 1e-12, q.k = 400, q.score_order = true;
  const Recalled r = index.mixpr(question, q);
  EXPECT_GT(r.chunks.size(), 10u);
  for (const RecalledChunk& c : r.chunks) EXPECT_NEAR(c.score, pi[counts.row[c.chunk]], 1e-6) << c.chunk;
}

TEST(MixPr, FallbacksSaySo) {
  const Lines l(story());
  const RecallIndex index = RecallIndex::build(l.text, l.chunks, {});
  RecallQuery q;
  q.k = 4;
  Recalled r = index.mixpr("zebra crossing", q);
  EXPECT_EQ(r.fallback, "recent");
  EXPECT_EQ(chunks_of(r).back(), 399u);
  EXPECT_EQ(index.mixpr("", q).fallback, "recent");
  q.min_joined = 0;
  r = index.mixpr("rain", q);  // in every line: no cosine is above the threshold chosen here
  RecallOptions high;
  high.threshold = 0.99f;
  const RecallIndex strict = RecallIndex::build(l.text, l.chunks, high);
  r = strict.mixpr("orchard rain", q);
  EXPECT_EQ(r.fallback, "bm25");
  EXPECT_EQ(r.chunks.size(), 4u);
  RecallOptions plain;
  plain.graph = false;
  const RecallIndex words = RecallIndex::build(l.text, l.chunks, plain);
  EXPECT_NE(message_of([&] { words.mixpr("rain", q); }).find("no similarity graph"), std::string::npos);
  EXPECT_EQ(chunks_of(words.bm25("lantern", 3)), (std::vector<uint32_t>{50}));
}

TEST(MixPr, CopiesAreOneAndCountInGlobalMode) {
  std::vector<std::string> lines = {"apple pear plum", "apple pear", "quince fig", "quince date", "walnut"};
  for (int i = 0; i < 9; ++i) lines.push_back("quince fig");
  const Lines l(lines);
  RecallOptions o;
  o.threshold = 0.05f;
  const RecallIndex index = RecallIndex::build(l.text, l.chunks, o);
  EXPECT_EQ(index.stats().rows, 5u);
  RecallQuery q;
  q.mode = RecallMode::global, q.k = 2, q.score_order = true, q.diversity = 0;
  Recalled r = index.mixpr("give me an overview", q);
  ASSERT_EQ(r.chunks.size(), 2u);
  EXPECT_EQ(r.chunks[0].chunk, 13u);  // the last copy
  EXPECT_EQ(r.chunks[0].copies, 10u);
  EXPECT_EQ(r.chunks[1].chunk, 3u);
  q.diversity = 0.6;  // now the second is another matter
  r = index.mixpr("give me an overview", q);
  EXPECT_NE(r.chunks[1].chunk, 3u);
}

TEST(MixPr, GlobalScoresAreTheWalksOwnForAlphaToZero) {
  std::vector<std::string> lines = story();
  const Lines l(lines);
  RecallOptions o;
  o.threshold = 0.1f;
  const RecallIndex index = RecallIndex::build(l.text, l.chunks, o);
  RecallQuery q;
  q.mode = RecallMode::global, q.k = 30, q.score_order = true, q.diversity = 0;
  const Recalled r = index.mixpr("", q);
  const auto degree = index.view().graph.degree;
  ASSERT_EQ(r.chunks.size(), 30u);
  for (size_t i = 1; i < 30; ++i) EXPECT_GE(r.chunks[i - 1].score, r.chunks[i].score);
  std::vector<double> sorted(degree.begin(), degree.end());
  std::sort(sorted.rbegin(), sorted.rend());
  for (size_t i = 0; i < 30; ++i) EXPECT_NEAR(r.chunks[i].score, sorted[i], 1e-4);
}

TEST(Router, Modes) {
  EXPECT_EQ(route("Summarise the book", RareTerms::none), RecallMode::global);
  EXPECT_EQ(route("Can you summarize what Alice said?", RareTerms::some), RecallMode::mixed);
  EXPECT_EQ(route("What are the main themes?", RareTerms::none), RecallMode::global);
  EXPECT_EQ(route("what was this story about", RareTerms::none), RecallMode::global);
  EXPECT_EQ(route("tl;dr", RareTerms::none), RecallMode::global);
  EXPECT_EQ(route("Where is the lantern?", RareTerms::some), RecallMode::local);
  EXPECT_EQ(route("What did Ann say about the story", RareTerms::some), RecallMode::local);
  EXPECT_EQ(recall_mode("global"), RecallMode::global);
  EXPECT_NE(message_of([] { recall_mode("both"); }).find("'both'"), std::string::npos);
}

}  // namespace
}  // namespace quern::recall
