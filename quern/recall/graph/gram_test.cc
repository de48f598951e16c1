// Chunks, counts, embeddings and the graph: scikit-learn's numbers; the pruned product against every pair; guards.
#include "quern/recall/graph/gram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "quern/base/cpu.h"
#include "quern/base/json.h"
#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/recall/bm25/postings.h"
#include "quern/recall/graph/gram_edges.h"

namespace quern::recall {
namespace {

const std::string kGoldens = std::string(QUERN_SOURCE_DIR) + "/tests/goldens/recall/";

std::vector<std::string> cut(std::string_view text, const ChunkOptions& o) {
  std::vector<std::string> out;
  for (const Chunk& c : chunk_text(text, o)) out.emplace_back(text.substr(c.begin, c.end - c.begin));
  return out;
}
using Strings = std::vector<std::string>;

TEST(Chunker, Sentences) {
  EXPECT_EQ(cut("Dr. J. S. Mill met e.g. Comte. \"Did he?\" Yes (in 1841)! It cost 3.50 pounds… then\nmore.", {}),
            (Strings{"Dr. J. S. Mill met e.g. Comte.", "\"Did he?\"", "Yes (in 1841)!", "It cost 3.50 pounds…",
                     "then\nmore."}));
  EXPECT_EQ(cut("# Title\n\nOne line\nstill it\n \t\nTwo", {}), (Strings{"# Title", "One line\nstill it", "Two"}));
  EXPECT_EQ(cut("水は流れる。粉を挽く。", {}), (Strings{"水は流れる。", "粉を挽く。"}));
  EXPECT_EQ(cut(" \n\n ", {}), Strings{});
}

TEST(Chunker, LinesWordsAndCode) {
  EXPECT_EQ(cut("a b\n\n  c d e\r\n", {.unit = ChunkUnit::line}), (Strings{"a b", "c d e"}));
  EXPECT_EQ(cut("a b c (d e)\nf", {.unit = ChunkUnit::words, .max_words = 3}), (Strings{"a b c", "(d e)\nf"}));
  EXPECT_EQ(cut("int f() {\n  a;\n\n  b;\n}\n\nint g();\n", {.unit = ChunkUnit::code}),
            (Strings{"int f() {\n  a;\n\n  b;\n}", "int g();"}));
  EXPECT_NE(message_of([] { chunk_text("a", {.max_words = 0}); }).find("max_words"), std::string::npos);
  EXPECT_EQ(chunk_unit("code"), ChunkUnit::code);
  EXPECT_NE(message_of([] { chunk_unit("page"); }).find("'page'"), std::string::npos);
}

TEST(Chunker, EveryWordIsInOneChunk) {
  Rng rng(4);
  const std::string_view alphabet[] = {"a", "Bc", ".", "! ", "\n", "\n\n", " ", "\"", "…", "é", "\xFF", "3", "("};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (uint64_t n = rng.below(120); n > 0; --n) text += alphabet[rng.below(std::size(alphabet))];
    for (ChunkUnit unit : {ChunkUnit::sentence, ChunkUnit::line, ChunkUnit::words, ChunkUnit::code}) {
      size_t done = 0;
      const auto space = [&](size_t b, size_t e) {
        return text.substr(b, e - b).find_first_not_of(" \t\n\v\f\r") == text.npos;
      };
      for (const Chunk& c : chunk_text(text, {.unit = unit, .max_words = 5})) {
        ASSERT_LE(done, c.begin);
        ASSERT_LT(c.begin, c.end);
        ASSERT_TRUE(space(done, c.begin)) << text;
        ASSERT_FALSE(space(c.begin, c.begin + 1));
        ASSERT_FALSE(space(c.end - 1, c.end));
        ASSERT_LE(words_of(std::string_view(text).substr(c.begin, c.end - c.begin)).size(), 5u);
        done = c.end;
      }
      ASSERT_TRUE(space(done, text.size())) << text;
    }
  }
}

struct Texts {
  std::string text;
  std::vector<Chunk> chunks;
};
Texts join(const std::vector<std::string>& lines) {
  Texts t;
  for (const std::string& l : lines) t.text += l + "\n";
  size_t at = 0;
  for (const std::string& l : lines) t.chunks.push_back({at, at + l.size()}), at += l.size() + 1;
  return t;
}

std::vector<std::string> random_lines(uint64_t seed, int n, int words, double vocabulary) {
  Rng rng(seed);
  std::vector<std::string> lines;
  for (int i = 0; i < n; ++i) {
    std::string l;
    for (uint64_t w = 1 + rng.below(static_cast<uint64_t>(words)); w > 0; --w)
      l += fmt::format("w{} ", static_cast<int>(std::pow(vocabulary, rng.uniform())));
    lines.push_back(l);
  }
  return lines;
}

TEST(Embedding, TfIdfAndGramAreScikitLearns) {
  const Json g = Json::read(kGoldens + "gram.json");
  std::vector<std::string> lines;
  for (const Json& d : g.at("documents").as_array()) lines.push_back(d.as_string());
  const Texts t = join(lines);
  const TermCounts counts = count_terms(t.text, t.chunks, {});
  ASSERT_EQ(counts.rows(), lines.size());
  const SparseRows x = tf_idf_embedder()->embed(counts);
  const SparseGraph graph = gram_pruned(x, {.threshold = 0.1f, .max_neighbors = 1000});
  std::map<std::pair<uint32_t, uint32_t>, double> found;
  for (uint32_t r = 0; r < graph.size(); ++r)
    for (uint64_t i = graph.begin[r]; i < graph.begin[r + 1]; ++i)
      if (graph.to[i] < r) found[{counts.row[r], graph.to[i]}] = graph.weight[i];
  const auto& pairs = g.at("pairs").as_array();
  EXPECT_EQ(found.size(), pairs.size());
  EXPECT_GT(pairs.size(), 300u);
  for (const Json& p : pairs) {
    const auto& v = p.as_array();
    const auto at = found.find({static_cast<uint32_t>(v[0].as_int()), static_cast<uint32_t>(v[1].as_int())});
    ASSERT_NE(at, found.end()) << v[0].as_int() << " " << v[1].as_int() << " " << v[2].as_double();
    EXPECT_NEAR(at->second, v[2].as_double(), 1e-6);
  }
}

TEST(Counts, ThreadsChangeNothingAndCopiesShareARow) {
  std::vector<std::string> lines = random_lines(9, 3000, 12, 900);
  for (int i = 0; i < 500; ++i) lines.push_back(lines[static_cast<size_t>(i) * 3]);
  const Texts t = join(lines);
  const int threads = thread_count();
  set_thread_count(1);
  const TermCounts one = count_terms(t.text, t.chunks, {});
  set_thread_count(3);
  const TermCounts three = count_terms(t.text, t.chunks, {});
  set_thread_count(threads);
  EXPECT_EQ(one.term, three.term);
  EXPECT_EQ(one.count, three.count);
  EXPECT_EQ(one.row, three.row);
  EXPECT_EQ(one.keys, three.keys);
  EXPECT_EQ(one.documents, three.documents);
  for (int i = 0; i < 500; ++i)
    EXPECT_EQ(one.row[3000 + static_cast<size_t>(i)], one.row[static_cast<size_t>(i) * 3]);
  // Against counting by hand.
  for (size_t c = 0; c < lines.size(); c += 37) {
    std::map<uint64_t, uint32_t> expected, got;
    for (const std::string& w : words_of(lines[c])) ++expected[word_key(w)];
    const uint32_t r = one.row[c];
    for (uint64_t i = one.begin[r]; i < one.begin[r + 1]; ++i) got[one.keys[one.term[i]]] = one.count[i];
    EXPECT_EQ(got, expected);
  }
  for (size_t v = 1; v < one.terms(); ++v) EXPECT_LE(one.documents[v - 1], one.documents[v]);
}

TEST(Counts, AreThoseOfTheObviousWay) {
  std::vector<std::string> lines = random_lines(77, 2500, 50, 3000);
  for (int i = 0; i < 300; ++i) lines.push_back(lines[static_cast<size_t>(i) * 7]);
  lines.push_back("");
  const Texts t = join(lines);
  const TermCounts fast = count_terms(t.text, t.chunks, {});
  // Rows by first appearance, a map a row, terms by frequency and then key.
  std::map<std::map<uint64_t, uint32_t>, uint32_t> seen;
  std::vector<std::map<uint64_t, uint32_t>> rows;
  std::map<uint64_t, uint32_t> documents;
  for (size_t c = 0; c < lines.size(); ++c) {
    std::map<uint64_t, uint32_t> row;
    for (const std::string& w : words_of(lines[c])) ++row[word_key(w)];
    const auto [at, fresh] = seen.emplace(row, static_cast<uint32_t>(rows.size()));
    if (fresh) {
      rows.push_back(row);
      for (const auto& [key, n] : row) ++documents[key];
    }
    ASSERT_EQ(fast.row[c], at->second);
  }
  std::vector<std::pair<uint32_t, uint64_t>> terms;
  for (const auto& [key, n] : documents) terms.emplace_back(n, key);
  std::sort(terms.begin(), terms.end());
  ASSERT_EQ(fast.terms(), terms.size());
  for (size_t v = 0; v < terms.size(); ++v)
    ASSERT_TRUE(fast.documents[v] == terms[v].first && fast.keys[v] == terms[v].second) << v;
  ASSERT_EQ(fast.rows(), rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    std::map<uint32_t, uint32_t> expected;
    uint32_t words = 0;
    for (const auto& [key, n] : rows[r]) {
      const auto at = std::lower_bound(terms.begin(), terms.end(), std::pair(documents[key], key));
      expected[static_cast<uint32_t>(at - terms.begin())] = n, words += n;
    }
    ASSERT_EQ(fast.length[r], words);
    ASSERT_EQ(fast.begin[r + 1] - fast.begin[r], expected.size());
    uint64_t i = fast.begin[r];
    for (const auto& [term, n] : expected) {
      ASSERT_TRUE(fast.term[i] == term && fast.count[i] == n) << r;
      ++i;
    }
  }
}

TEST(Counts, PostingsAtOnceAreThoseOneByOne) {
  std::vector<std::string> lines = random_lines(78, 6000, 20, 900);
  const Texts t = join(lines);
  const TermCounts counts = count_terms(t.text, t.chunks, {});
  const Postings fast = Postings::of(counts);
  Postings slow;
  WordKeys keys({});
  std::vector<uint64_t> k;
  std::vector<bool> done(counts.rows());
  for (size_t c = 0; c < lines.size(); ++c) {
    if (done[counts.row[c]]) continue;
    done[counts.row[c]] = true;
    k.clear();
    keys.append(lines[c], k);
    slow.add(k);
  }
  const PostingsView a = fast.view(), b = slow.view();
  EXPECT_EQ(fast.words(), slow.words());
  const auto list = [](const PostingsView& v, const TermEntry& e) {
    std::vector<std::pair<uint32_t, uint32_t>> out;
    for (uint32_t ref = e.head; ref != kNoBlock; ref = v.block(ref).next()) {
      const PostingBlock block = v.block(ref);
      uint32_t maximum = 0, minimum = 0xffffffffu;
      for (uint32_t i = 0; i < block.count(); ++i) {
        out.emplace_back(block.documents()[i], block.counts()[i]);
        maximum = std::max<uint32_t>(maximum, block.counts()[i]),
        minimum = std::min(minimum, v.lengths[block.documents()[i]]);
      }
      EXPECT_TRUE(block.max_count() == maximum && block.min_length() == minimum);
    }
    return out;
  };
  for (const uint64_t key : counts.keys) {
    const TermEntry *x = a.find(key), *y = b.find(key);
    ASSERT_TRUE(x && y);
    EXPECT_TRUE(x->documents == y->documents && x->max_count == y->max_count && x->min_length == y->min_length);
    EXPECT_EQ(list(a, *x), list(b, *y));
  }
}

TEST(Gram, PrunedIsEveryPair) {
  for (const float threshold : {0.05f, 0.1f, 0.27f, 0.6f})
    for (const char* name : {"tf-idf", "bm25", "hashing", "hashing to few"}) {
      const Texts t = join(random_lines(21, 700, 20, 1500));
      // Hashing: columns in no order of frequency, and signs; laid out by tiles where they are few.
      const auto embedder = name == std::string_view("hashing to few") ? hashing_embedder(11) : make_embedder(name);
      const SparseRows x = embedder->embed(count_terms(t.text, t.chunks, {}));
      const SparseGraph slow = gram_all(x, threshold),
                        fast = gram_pruned(x, {.threshold = threshold, .max_neighbors = 1000});
      EXPECT_EQ(slow.begin, fast.begin) << name << threshold;
      EXPECT_EQ(slow.to, fast.to);
      EXPECT_EQ(slow.weight, fast.weight);
      EXPECT_GT(fast.to.size(), t.chunks.size());
    }
}

TEST(Gram, BlocksOfRowsAreEveryPairOnAnyMachine) {
  // Past a tile of rows: rows with many products, with some, and with few.
  std::vector<std::string> lines = random_lines(5, 8300, 7, 300);
  for (const std::string& l : random_lines(6, 400, 3, 1e6)) lines.push_back(l);
  const Texts t = join(lines);
  const SparseRows x = tf_idf_embedder()->embed(count_terms(t.text, t.chunks, {}));
  const SparseGraph slow = gram_all(x, 0.3f);
  const Isa detected = active_isa();
  const int threads = thread_count();
  for (const Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected) continue;
    set_active_isa(isa);
    set_thread_count(isa == Isa::ref ? 3 : 1);
    const SparseGraph fast = gram_pruned(x, {.threshold = 0.3f, .max_neighbors = 10000});
    EXPECT_EQ(slow.begin, fast.begin) << isa_name(isa);
    EXPECT_EQ(slow.to, fast.to);
    EXPECT_EQ(slow.weight, fast.weight);
    EXPECT_EQ(slow.degree, fast.degree);
  }
  set_active_isa(detected);
  set_thread_count(threads);
  EXPECT_GT(slow.to.size(), 100'000u);
}

TEST(Gram, ScansAgree) {
  Rng rng(8);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> sums(256);
    for (float& s : sums) s = rng.below(4) == 0 ? static_cast<float>(rng.uniform()) : 0.f;
    const size_t live = rng.below(257);
    std::vector<GramNeighbor> expected;
    for (uint32_t i = 0; i < live; ++i)
      if (sums[i] >= 0.6f) expected.push_back({100 + i, sums[i]});
    const Isa isa = detected_isa();
    std::vector<GramScan> scans = {gram_scan_ref};
    if (isa >= Isa::avx2) scans.push_back(gram_scan_avx2);
    if (isa >= Isa::avx512) scans.push_back(gram_scan_avx512);
    for (const GramScan scan : scans) {
      std::vector<float> copy = sums;
      std::vector<GramNeighbor> out(256);
      out.resize(scan(copy, live, 0.6f, 100, out.data()));
      ASSERT_EQ(out.size(), expected.size());
      for (size_t i = 0; i < out.size(); ++i)
        EXPECT_TRUE(out[i].to == expected[i].to && out[i].weight == expected[i].weight);
      EXPECT_EQ(copy, std::vector<float>(256));
    }
  }
}

// Words as prose has them: some in half of the rows, most in a few; rows of two to forty words.
TEST(Gram, ProseIsEveryPairToo) {
  Rng rng(12);
  std::vector<std::string> lines;
  for (int i = 0; i < 4500; ++i) {
    std::string l;
    for (uint64_t w = 2 + rng.below(i % 7 == 0 ? 38 : 12); w > 0; --w)
      l += fmt::format("v{} ", static_cast<int>(std::pow(20000, std::pow(rng.uniform(), 0.7))));
    lines.push_back(l);
  }
  const Texts t = join(lines);
  const SparseRows x = tf_idf_embedder()->embed(count_terms(t.text, t.chunks, {}));
  const SparseGraph slow = gram_all(x, 0.2f), fast = gram_pruned(x, {.threshold = 0.2f, .max_neighbors = 10000});
  EXPECT_EQ(slow.begin, fast.begin);
  EXPECT_EQ(slow.to, fast.to);
  EXPECT_EQ(slow.weight, fast.weight);
  EXPECT_EQ(slow.degree, fast.degree);
  EXPECT_GT(slow.to.size(), x.rows() + 2000);
}

// What stays of every pair, obviously: of each row's pairs with rows before it the strongest, of equals the first.
SparseGraph strongest_before(const SparseRows& x, float threshold, size_t maximum, int64_t& cut) {
  const SparseGraph all = gram_all(x, threshold);
  GramParts parts(1);
  cut = 0;
  for (size_t r = 0; r < all.size(); ++r) {
    std::vector<GramNeighbor> near;
    for (uint64_t i = all.begin[r]; i < all.begin[r + 1] && all.to[i] < r; ++i)
      near.push_back({all.to[i], all.weight[i]});
    cut += near.size() > maximum;
    std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.weight > b.weight; });
    near.resize(std::min(near.size(), maximum));
    std::sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.to < b.to; });
    parts[0].near.insert(parts[0].near.end(), near.begin(), near.end());
    parts[0].begin.push_back(parts[0].near.size());
  }
  return graph_from_lower(x, parts);
}

TEST(Gram, TheStrongestStay) {
  std::vector<std::string> lines = random_lines(15, 5000, 6, 120);  // few words: many equal weights
  const Texts t = join(lines);
  const SparseRows x = tf_idf_embedder()->embed(count_terms(t.text, t.chunks, {}));
  const int threads = thread_count();
  for (const uint32_t maximum : {1u, 7u, 32u, 300u}) {
    int64_t cut = 0;
    const SparseGraph slow = strongest_before(x, 0.3f, maximum, cut);
    set_thread_count(maximum == 7 ? 3 : 1);
    GramStats stats;
    const SparseGraph fast = gram_pruned(x, {.threshold = 0.3f, .max_neighbors = maximum}, &stats);
    EXPECT_EQ(slow.begin, fast.begin) << maximum;
    EXPECT_EQ(slow.to, fast.to) << maximum;
    EXPECT_EQ(slow.weight, fast.weight) << maximum;
    EXPECT_EQ(stats.rows_cut, cut) << maximum;
    EXPECT_GT(cut, 100) << maximum;
  }
  set_thread_count(threads);
}

TEST(Gram, HashingKeepsSimilarities) {
  const Texts t = join(random_lines(31, 300, 20, 800));
  const TermCounts counts = count_terms(t.text, t.chunks, {});
  const SparseGraph a = gram_all(tf_idf_embedder()->embed(counts), 0.3f);
  const SparseGraph b = gram_all(hashing_embedder(22)->embed(counts), 0.3f);
  EXPECT_NEAR(static_cast<double>(a.to.size()), static_cast<double>(b.to.size()),
              0.02 * static_cast<double>(a.to.size()));
  EXPECT_GT(a.to.size(), a.size());
}

TEST(Gram, GuardsBoundTheGraph) {
  std::vector<std::string> lines;
  for (int i = 0; i < 3000; ++i) lines.push_back(fmt::format("the same log line again number {}", i));
  const Texts t = join(lines);
  const SparseRows x = tf_idf_embedder()->embed(count_terms(t.text, t.chunks, {}));
  GramStats stats;
  const SparseGraph g = gram_pruned(x, {.threshold = 0.05f, .max_neighbors = 16}, &stats);
  EXPECT_GT(stats.rows_cut, 2000);
  EXPECT_LE(g.to.size(), 3000u * (2 * 16 + 1));
  const SparseGraph h = gram_pruned(x, {.threshold = 0.1f, .max_work = 1000}, &stats);
  EXPECT_GT(stats.terms_skipped, 0);
  EXPECT_EQ(h.to.size(), 3000u);  // the diagonal
  // Part of the terms: pairs that share a kept one, with their whole weights.
  const SparseRows y = tf_idf_embedder()->embed(
      count_terms(join(random_lines(21, 700, 20, 1500)).text, join(random_lines(21, 700, 20, 1500)).chunks, {}));
  const SparseGraph all = gram_all(y, 0.2f),
                    part = gram_pruned(y, {.threshold = 0.2f, .max_work = 3000, .max_neighbors = 1000}, &stats);
  EXPECT_GT(stats.terms_skipped, 10);
  EXPECT_LT(part.to.size(), all.to.size());
  EXPECT_GT(part.to.size(), y.rows() + 200);
  for (uint32_t r = 0; r < part.size(); ++r)
    for (uint64_t i = part.begin[r]; i < part.begin[r + 1]; ++i) {
      const auto at = std::lower_bound(all.to.begin() + static_cast<std::ptrdiff_t>(all.begin[r]),
                                       all.to.begin() + static_cast<std::ptrdiff_t>(all.begin[r + 1]), part.to[i]);
      ASSERT_EQ(*at, part.to[i]);
      EXPECT_EQ(all.weight[static_cast<size_t>(at - all.to.begin())], part.weight[i]);
    }
  EXPECT_NE(message_of([&] { gram_pruned(x, {.threshold = 0}); }).find("threshold"), std::string::npos);
}

TEST(Gram, ConnectingThreshold) {
  SparseGraph g;  // a path with falling weights
  const float w[] = {0.9f, 0.7f, 0.5f, 0.3f};
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  std::vector<float> weights;
  for (uint32_t i = 0; i < 5; ++i) {
    edges.emplace_back(i, i), weights.push_back(1);
    if (i < 4)
      edges.emplace_back(i, i + 1), edges.emplace_back(i + 1, i), weights.push_back(w[i]), weights.push_back(w[i]);
  }
  std::vector<uint64_t> begin(6);
  g.begin.assign(6, 0), g.to.resize(edges.size()), g.weight.resize(edges.size());
  for (const auto& e : edges) ++g.begin[e.first + 1];
  for (size_t i = 0; i < 5; ++i) g.begin[i + 1] += g.begin[i];
  std::vector<uint64_t> at(g.begin.begin(), g.begin.end() - 1);
  for (size_t i = 0; i < edges.size(); ++i)
    g.to[at[edges[i].first]] = edges[i].second, g.weight[at[edges[i].first]++] = weights[i];
  g.sum_degrees();
  EXPECT_NEAR(connecting_threshold(g, 0.1f, 0.8), 0.5, 1.0 / 256);
  EXPECT_NEAR(connecting_threshold(g, 0.1f, 1.0), 0.3, 1.0 / 256);
  EXPECT_EQ(components(above_threshold(g, 0.6f).view()), (std::vector<uint32_t>{0, 0, 0, 3, 4}));
}

}  // namespace
}  // namespace quern::recall
