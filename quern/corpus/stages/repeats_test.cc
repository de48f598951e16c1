// Repeated lines, paragraphs and n-grams against a set that remembers everything, and the filter's false answers.
#include "quern/corpus/stages/repeats.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <set>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/corpus/bytes/byte_stream.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class RepeatsTest : public ::testing::Test {
 protected:
  RepeatsTest() : root_(fs::temp_directory_path() / fmt::format("quern-repeats-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~RepeatsTest() override { fs::remove_all(root_); }
  std::vector<std::string> run(const std::vector<std::string>& texts, const RepeatConfig& c, RepeatReport& r) {
    std::string all;
    for (const std::string& t : texts) {
      all += "{\"a\":1,\"text\":";
      append_json_string(all, t);
      all += ",\"z\":[2]}\n";
    }
    write_file(root_ / "in.jsonl", all);
    fs::remove_all(root_ / "out");
    r = drop_repeats(find_inputs(std::vector<std::string>{(root_ / "in.jsonl").string()}), {}, c, root_ / "out");
    auto in = open_bytes(root_ / "out/part-00000.jsonl.zst");
    std::string lines, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) lines.append(piece, 0, n);
    std::vector<std::string> kept;
    for (size_t at = 0; at < lines.size();) {
      const size_t end = lines.find('\n', at);
      const Json j = Json::parse(lines.substr(at, end - at));
      EXPECT_EQ(j.at("z").as_array().size(), 1u);
      kept.push_back(j.at("text").as_string());
      at = end + 1;
    }
    return kept;
  }
  fs::path root_;
};

TEST_F(RepeatsTest, ParagraphsStandOnce) {
  const std::string menu = "home about us contact the team", one = "the first page says something here";
  RepeatReport r;
  const auto kept = run({menu + "\n\n" + one, menu + "\n\nanother page says something else\nin two lines",
                         "short\n\nshort", "Home, about us: contact the TEAM!", menu + "\n\n\n"},
                        {}, r);
  EXPECT_EQ(kept, (std::vector<std::string>{menu + "\n\n" + one, "another page says something else\nin two lines",
                                            "short\n\nshort"}));
  EXPECT_EQ(r.dropped, 2u);
  EXPECT_EQ(r.changed, 1u);
  EXPECT_EQ(r.repeated, 3u);
  RepeatConfig c;
  c.unit = RepeatUnit::line, c.shortest = 1;
  EXPECT_EQ(run({"a b\nc d\na b\ne"}, c, r), std::vector<std::string>{"a b\nc d\ne"});
}

TEST_F(RepeatsTest, LinesAsASetSaysForAnyThreads) {
  std::mt19937 random(5);
  std::vector<std::string> texts, expected;
  std::set<std::string> seen;
  for (int d = 0; d < 3000; ++d) {
    std::string text, left;
    bool changed = false;
    for (int l = 0; l < 12; ++l) {
      const std::string line = fmt::format("line number {} of them all\n", random() % 20000);
      text += line;
      if (seen.insert(line).second)
        left += line;
      else
        changed = true;
    }
    while (changed && !left.empty() && left.back() == '\n') left.pop_back();
    texts.push_back(text);
    if (!left.empty()) expected.push_back(left);
  }
  RepeatConfig c;
  c.unit = RepeatUnit::line, c.memory = 8 << 20;
  RepeatReport r;
  const int before = thread_count();
  for (int threads : {1, 3}) {
    set_thread_count(threads);
    EXPECT_EQ(run(texts, c, r), expected);
  }
  set_thread_count(before);
  EXPECT_LT(r.false_positive_rate, 1e-6);
}

TEST_F(RepeatsTest, DocumentsOfKnownNgramsGo) {
  std::string page;
  for (int i = 0; i < 60; ++i) page += fmt::format("word{} ", i);
  RepeatConfig c;
  c.unit = RepeatUnit::ngram, c.n = 5;
  RepeatReport r;
  const auto kept = run({page, page + "and an end",
                         "some words " + page.substr(0, 100) + " that differ a lot from page one", "too short"},
                        c, r);
  EXPECT_EQ(kept.size(), 3u);
  EXPECT_EQ(r.dropped, 1u);
}

TEST(Bloom, IsAsWrongAsItSays) {
  BlockedBloom b(1 << 16);
  Rng random(3, 0);
  const uint64_t n = 50000;  // 10.5 bits a key
  uint64_t early = 0, wrong = 0;
  for (uint64_t i = 0; i < n; ++i) early += b.insert(random.bits(i));
  for (uint64_t i = 0; i < n; ++i) ASSERT_TRUE(b.holds(random.bits(i)));
  for (uint64_t i = 0; i < n; ++i) wrong += b.holds(random.bits(n + i));
  const double rate = static_cast<double>(wrong) / static_cast<double>(n);
  EXPECT_NEAR(rate / b.false_positive_rate(), 1, 0.15);
  EXPECT_GT(rate, 0.003);
  EXPECT_LT(rate, 0.03);
  EXPECT_LT(static_cast<double>(early) / static_cast<double>(n), rate);
}

}  // namespace
}  // namespace quern::corpus
