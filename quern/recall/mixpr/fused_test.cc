// Fused ranking: BM25's order where nothing else is known, headings, phrases, the walk, and sections that do not hide
// others.
#include "quern/recall/mixpr/fused.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace quern::recall {
namespace {

struct Passage {
  std::string heading, text;
  uint64_t section = 0;
};

// One part over some passages; their headings are searched too.
struct Fixture {
  std::string text;
  std::vector<Chunk> chunks;
  std::vector<std::string_view> headings;
  std::vector<Passage> passages;
  RecallIndex index;
  Fixture(std::vector<Passage> p, const RecallOptions& o = {}) : passages(std::move(p)), index(make(o)) {}
  RecallIndex make(const RecallOptions& o) {
    for (const Passage& p : passages) {
      chunks.push_back({text.size(), text.size() + p.text.size()});
      text += p.text + "\n";
      headings.push_back(p.heading);
    }
    return RecallIndex::build(text, chunks, o, headings);
  }
  FusedPart part() const {
    const RecallView v = index.view();
    return {v, [this, last = v.last](uint32_t row) {
              const Passage& p = passages[last[row]];
              return FusedText{p.text, p.heading, p.section};
            }};
  }
  std::vector<uint32_t> rank(std::string_view question, size_t k, const FusedOptions& o = {}) const {
    const FusedPart one = part();
    std::vector<uint32_t> out;
    for (const FusedRow& r : rank_fused(std::span(&one, 1), question, k, o)) out.push_back(index.view().last[r.row]);
    return out;
  }
};

const RecallOptions kNoGraph = [] {
  RecallOptions o;
  o.graph = false;
  return o;
}();

TEST(Fused, IsBm25WhereNothingElseIsKnown) {
  Rng rng(5);
  std::vector<Passage> p;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (uint64_t w = 3 + rng.below(20); w > 0; --w) text += fmt::format("w{} ", rng.below(60));
    p.push_back({"", text});
  }
  const Fixture f(std::move(p), kNoGraph);
  for (int i = 0; i < 60; ++i) {
    const std::string q = fmt::format("w{}", i);
    std::vector<uint32_t> expected;
    for (const RecalledChunk& c : f.index.bm25(q, 12).chunks) expected.push_back(c.chunk);
    EXPECT_EQ(f.rank(q, 12), expected) << q;
  }
  EXPECT_TRUE(f.rank("zebra", 5).empty());
  EXPECT_TRUE(f.rank("", 5).empty());
}

TEST(Fused, AHeadingThatSaysTheSameWins) {
  std::vector<Passage> p = {{"Grain", "wheel repair wheel repair wheel repair wheel"},
                            {"Wheel repair", "take the axle out and oil all of its parts before winter comes again"},
                            {"Wheel repair of carts and wagons in winter", "oil"}};
  for (int i = 0; i < 50; ++i) p.push_back({"Other", fmt::format("rain {} wheel", i)});
  const Fixture f(p, kNoGraph);
  FusedOptions off;
  off.heading = 0;
  EXPECT_NE(f.rank("How to repair a wheel", 1, off).at(0), 1u);
  FusedOptions on;
  on.heading = 1;
  EXPECT_EQ(f.rank("Repair of the wheel", 1, on).at(0), 1u);
}

TEST(Fused, NeighboringWordsCount) {
  const Fixture f({{"", "river of the old mill stone bridge one"}, {"", "stone of the old mill river bridge two"}}, kNoGraph);
  EXPECT_EQ(f.rank("mill river", 2), (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(f.rank("mill stone", 2), (std::vector<uint32_t>{0, 1}));
}

TEST(Fused, TheWalkAddsWhatSharesNoWordBehindWhatDoes) {
  std::vector<Passage> p = {{"", "Mara took the lantern"}, {"", "Mara walked to the orchard"}};
  Rng rng(3);
  for (int i = 0; i < 300; ++i)
    p.push_back({"", fmt::format("noise{} noise{} noise{}", rng.below(300), rng.below(300), rng.below(300))});
  const Fixture f(p);
  EXPECT_EQ(f.rank("Where is the lantern?", 2), (std::vector<uint32_t>{0, 1}));
  FusedOptions off;
  off.walk = 0;
  EXPECT_EQ(f.rank("Where is the lantern?", 2, off).at(0), 0u);
  const Fixture without(p, kNoGraph);
  EXPECT_EQ(without.rank("Where is the lantern?", 2), std::vector<uint32_t>{0});
}

TEST(Fused, ASectionDoesNotHideOthers) {
  const std::vector<Passage> p = {{"", "mill mill mill a1", 7},
                                  {"", "mill mill mill b2", 7},
                                  {"", "mill mill mill c3", 7},
                                  {"", "mill mill d4 e5 f6", 8},
                                  {"", "rain"},
                                  {"", "snow"}};
  const Fixture f(p, kNoGraph);
  EXPECT_EQ(f.rank("mill", 4), (std::vector<uint32_t>{0, 3, 1, 2}));
  FusedOptions all;
  all.repeated = 1;
  EXPECT_EQ(f.rank("mill", 4, all), (std::vector<uint32_t>{0, 1, 2, 3}));
}

TEST(Fused, PartsScoreAsOne) {
  std::vector<Passage> a, b, both;
  Rng rng(9);
  for (int i = 0; i < 120; ++i) {
    Passage p{i % 3 == 0 ? fmt::format("w{} w{}", rng.below(40), rng.below(40)) : "", ""};
    for (uint64_t w = 4 + rng.below(8); w > 0; --w) p.text += fmt::format("w{} ", rng.below(40));
    p.text += fmt::format("id{}", i);
    (i < 70 ? a : b).push_back(p), both.push_back(p);
  }
  const Fixture first(a, kNoGraph), second(b, kNoGraph), one(both, kNoGraph);
  const std::vector<FusedPart> parts = {first.part(), second.part()};
  for (int i = 0; i < 40; ++i) {
    const std::string q = fmt::format("w{} w{} w{}", rng.below(40), rng.below(40), rng.below(40));
    const FusedPart whole = one.part();
    const auto expected = rank_fused(std::span(&whole, 1), q, 10);
    const auto found = rank_fused(parts, q, 10);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k].score, expected[k].score, 1e-5) << q;
  }
}

TEST(Router, AsksOnlyForTheWhole) {
  for (const char* q :
       {"Summarize the document", "What are the main themes?", "Give me a short overview", "what is this text about"})
    EXPECT_TRUE(asks_only_for_the_whole(q)) << q;
  for (const char* q :
       {"Summary of changes", "overview", "API overview", "Where is the lantern?", "main ideas of Tobias"})
    EXPECT_FALSE(asks_only_for_the_whole(q)) << q;
}

}  // namespace
}  // namespace quern::recall
