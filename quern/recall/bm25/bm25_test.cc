// BM25: scores against another implementation's; skipping against the definition, bit for bit; appending, removing
// and filtering against a fresh index of the same documents.
#include "quern/recall/bm25/bm25.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "quern/base/json.h"
#include "quern/base/test_message.h"

namespace quern::recall {
namespace {

const std::string kGoldens = std::string(QUERN_SOURCE_DIR) + "/tests/goldens/recall/";

std::string zipf_text(Rng& rng, int64_t words, uint64_t vocabulary) {
  std::string text;
  for (int64_t i = 0; i < words; ++i) {
    const double u = rng.uniform();
    text += fmt::format("w{} ", static_cast<uint64_t>(std::pow(static_cast<double>(vocabulary), u)) - 1);
  }
  return text;
}

TEST(Bm25, EqualsAnotherImplementation) {
  const Json g = Json::read(kGoldens + "bm25.json");
  int runs = 0;
  for (const Json& run : g.at("runs").as_array()) {
    Bm25Index index({}, {.k1 = run.at("k1").as_double(), .b = run.at("b").as_double()});
    int64_t id = 0;
    for (const Json& d : g.at("documents").as_array()) index.add(id++, d.as_string());
    const std::vector<ScoredDocument> hits = index.top(run.at("query").as_string(), 10);
    const auto& scores = run.at("scores").as_array();
    ASSERT_EQ(hits.size(), scores.size());
    std::map<int64_t, double> expected;
    for (size_t i = 0; i < scores.size(); ++i) {
      EXPECT_NEAR(hits[i].score, scores[i].as_double(), 2e-5);
      expected[run.at("ids").as_array()[i].as_int()] = scores[i].as_double();
    }
    for (const ScoredDocument& h : hits)  // equal scores may order otherwise at the last place
      EXPECT_TRUE(h.score < scores.back().as_double() + 1e-4 || expected.contains(h.id)) << h.id;
    ++runs;
  }
  EXPECT_EQ(runs, 50);
}

TEST(Bm25, SkippingChangesNothing) {
  Rng rng(3);
  Postings postings;
  WordKeys keys({});
  std::vector<uint64_t> k;
  for (int d = 0; d < 20000; ++d) {
    k.clear();
    keys.append(zipf_text(rng, 1 + static_cast<int64_t>(rng.below(40)), 5000), k);
    postings.add(k);
  }
  const PostingsView view = postings.view();
  const Collection c{postings.documents(), postings.words()};
  std::vector<uint64_t> allowed((c.documents + 63) / 64);
  for (uint64_t& w : allowed) w = rng.next() & rng.next();
  std::vector<uint32_t> among;
  for (uint32_t d = 0; d < c.documents; ++d)
    if (allowed[d / 64] >> (d % 64) & 1) among.push_back(d);
  for (int q = 0; q < 200; ++q) {
    k.clear();
    keys.append(zipf_text(rng, 1 + static_cast<int64_t>(rng.below(9)), 5000), k);
    std::vector<QueryTerm> terms = query_terms(k);
    for (QueryTerm& t : terms)
      if (const TermEntry* e = view.find(t.key)) t.documents = e->documents;
    for (size_t n : {size_t{1}, size_t{10}, size_t{200}}) {
      EXPECT_EQ(rank_top(view, terms, c, {}, n), rank_all(view, terms, c, {}, n));
      EXPECT_EQ(rank_top(view, terms, c, {}, n, allowed), rank_all(view, terms, c, {}, n, allowed));
      EXPECT_EQ(rank_among(view, terms, c, {}, n, among), rank_all(view, terms, c, {}, n, allowed));
    }
  }
}

TEST(Bm25, WhatIsAddedIsFoundAtOnceAndWhatIsRemovedIsGone) {
  Rng rng(5);
  std::vector<std::string> texts;
  for (int i = 0; i < 600; ++i) texts.push_back(zipf_text(rng, 1 + static_cast<int64_t>(rng.below(30)), 400));
  Bm25Index index;
  for (int i = 0; i < 600; ++i) {
    index.add(10 * i, texts[static_cast<size_t>(i)] + fmt::format(" only{}", i));
    const auto hits = index.top(fmt::format("only{}", i), 3);
    ASSERT_EQ(hits.size(), 1u);
    EXPECT_EQ(hits[0].id, 10 * i);
  }
  std::vector<int64_t> gone, left;
  for (int i = 0; i < 600; ++i) (rng.below(3) == 0 ? gone : left).push_back(10 * i);
  EXPECT_EQ(index.remove(gone), gone.size());
  EXPECT_EQ(index.remove(gone), 0u);
  Bm25Index fresh;
  for (const int64_t id : left) fresh.add(id, texts[static_cast<size_t>(id / 10)] + fmt::format(" only{}", id / 10));
  EXPECT_EQ(index.words(), fresh.words());
  EXPECT_EQ(index.size(), left.size());
  for (int q = 0; q < 50; ++q) {
    const std::string query = zipf_text(rng, 4, 400);
    EXPECT_EQ(index.top(query, 20), fresh.top(query, 20));
  }
  EXPECT_TRUE(index.top(fmt::format("only{}", gone[0] / 10), 5).empty());
  index.add(gone[0], "back again");
  EXPECT_EQ(index.top("again back", 1)[0].id, gone[0]);  // an id below the last one: order no longer ascends
  EXPECT_EQ(index.remove(left[5]), true);
  EXPECT_EQ(index.top("again back", 1)[0].id, gone[0]);
}

TEST(Bm25, OnlyAllowedIds) {
  Rng rng(7);
  Bm25Index index;
  std::vector<int64_t> some, few;
  for (int64_t id = 0; id < 3000; ++id) {
    index.add(id, zipf_text(rng, 20, 500));
    if (rng.below(2) == 0) some.push_back(id);
    if (rng.below(100) == 0) few.push_back(id);
  }
  few.push_back(999'999);  // not in the index
  for (const auto& allowed : {some, few}) {
    const std::set<int64_t> set(allowed.begin(), allowed.end());
    const std::string query = zipf_text(rng, 5, 500);
    std::vector<ScoredDocument> expected;
    for (const ScoredDocument& h : index.top(query, 3000))
      if (set.contains(h.id) && expected.size() < 15) expected.push_back(h);
    EXPECT_EQ(index.top(query, 15, allowed), expected);
  }
  EXPECT_TRUE(index.top("w1 w2", 5, std::vector<int64_t>{}).empty());
}

TEST(Bm25, Edges) {
  Bm25Index index;
  EXPECT_TRUE(index.top("anything", 5).empty());
  index.add(1, "");
  index.add(2, "mill");
  EXPECT_TRUE(index.top("the of", 5).empty());
  EXPECT_TRUE(index.top("mill", 0).empty());
  EXPECT_EQ(index.top("MILLS", 5)[0].id, 2);
  EXPECT_NE(message_of([&] { index.add(2, "x"); }).find("document 2"), std::string::npos);
  EXPECT_NE(message_of([] { Bm25Index({}, {.k1 = 0, .b = 2}); }).find("k1"), std::string::npos);
  std::string many;
  for (int i = 0; i < 70000; ++i) many += "wheel ";
  index.add(3, many);
  EXPECT_EQ(index.top("wheel", 5).at(0).id, 3);
}

}  // namespace
}  // namespace quern::recall
