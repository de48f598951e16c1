// The stages that stand alone: statistics, mixtures, token shards, n-grams of benchmarks, sketches, and the page.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup/html_report.h"
#include "quern/corpus/filters/ngram_index.h"
#include "quern/corpus/bytes/byte_stream.h"
#include "quern/corpus/stages/mix.h"
#include "quern/corpus/stages/stats.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class StagesTest : public ::testing::Test {
 protected:
  StagesTest() : root_(fs::temp_directory_path() / fmt::format("quern-stages-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~StagesTest() override { fs::remove_all(root_); }
  void documents(const std::string& name, int n, int bytes) {
    std::string all;
    for (int i = 0; i < n; ++i) {
      const std::string text = fmt::format("{} {:04} {}", name, i, std::string(static_cast<size_t>(bytes), 'x'));
      all += fmt::format("{{\"text\":\"{}\"}}\n", text.substr(0, static_cast<size_t>(bytes)));
    }
    write_file(root_ / (name + ".jsonl"), all);
  }
  Inputs inputs(const std::vector<std::string>& names) const {
    std::vector<std::string> words;
    for (const std::string& n : names) words.push_back(n + "=" + (root_ / (n + ".jsonl")).string());
    return find_inputs(words);
  }
  std::string unpacked(const fs::path& file) const {
    auto in = open_bytes(file);
    std::string all, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
    return all;
  }
  fs::path root_;
};

TEST_F(StagesTest, StatisticsCount) {
  write_file(root_ / "a.jsonl", "{\"text\":\"one two\\nthree\"}\n{\"text\":\"naïve 水車\"}\n{\"text\":\"\"}\nno\n");
  documents("b", 10, 20);
  const CorpusStats s = corpus_stats(inputs({"a", "b"}), {}, nullptr);
  ASSERT_EQ(s.sources.size(), 2u);
  EXPECT_EQ(s.sources[0].documents, 3u);
  EXPECT_EQ(s.sources[0].bytes, 13u + 13u);
  EXPECT_EQ(s.sources[0].characters, 13u + 8u);
  EXPECT_EQ(s.sources[0].words, 5u);
  EXPECT_EQ(s.sources[0].lines, 3u);
  EXPECT_EQ(s.sources[0].longest, 13u);
  EXPECT_EQ(s.sources[1].bytes, 200u);
  EXPECT_EQ(s.sources[1].median_below(), 32u);
  EXPECT_EQ(s.json().at("all").at("documents").as_int(), 13);
}

TEST_F(StagesTest, MixturesGiveShares) {
  documents("web", 2000, 100), documents("books", 500, 100);
  MixConfig c;
  c.shares = {{"web", 1}, {"books", 1}};
  c.total_bytes = 200000, c.to.shard_bytes = 60000;
  const auto mix = [&](const char* out) {
    c.to.folder = root_ / out;
    return mix_corpus(inputs({"web", "books"}), {}, c);
  };
  const MixReport r = mix("one");
  EXPECT_NEAR(r.sources[0].epochs, 0.5, 1e-9);
  EXPECT_NEAR(r.sources[1].epochs, 2, 1e-9);
  EXPECT_NEAR(static_cast<double>(r.sources[0].bytes_out), 100000, 7000);  // three standard deviations of 2000 draws
  EXPECT_EQ(r.sources[1].bytes_out, 100000u);
  EXPECT_EQ(r.files.size(), 4u);
  std::map<std::string, int> seen;
  std::string first;
  for (const std::string& f : r.files) {
    const std::string lines = unpacked(root_ / "one" / f);
    if (first.empty()) first = lines;
    for (size_t at = 0; at < lines.size();) {
      const size_t end = lines.find('\n', at);
      ++seen[lines.substr(at, end - at)];
      at = end + 1;
    }
  }
  int books = 0;
  for (const auto& [line, n] : seen) {
    EXPECT_EQ(n, line.find("books") == line.npos ? 1 : 2);
    books += line.find("books") != line.npos;
  }
  EXPECT_EQ(books, 500);
  // Shuffled: among the first hundred lines of a file are both sources.
  EXPECT_NE(first.substr(0, 11000).find("books"), std::string::npos);
  EXPECT_NE(first.substr(0, 11000).find("web"), std::string::npos);
  // Threads do not matter, the seed does.
  const int before = thread_count();
  set_thread_count(3);
  mix("three");
  set_thread_count(before);
  c.seed = 2;
  mix("other");
  EXPECT_EQ(read_file(root_ / "one/part-00000.jsonl.zst"), read_file(root_ / "three/part-00000.jsonl.zst"));
  EXPECT_NE(read_file(root_ / "one/part-00000.jsonl.zst"), read_file(root_ / "other/part-00000.jsonl.zst"));
  // Without a total the scarcest source is read once.
  c.total_bytes = 0;
  const MixReport scarce = mix("scarce");
  EXPECT_DOUBLE_EQ(scarce.sources[1].epochs, 1);
  c.max_epochs = 0.5;
  EXPECT_NE(message_of([&] { mix("x"); }).find("read 1.00 times"), std::string::npos);
  c.shares = {{"web", 1}, {"boks", 1}};
  EXPECT_NE(message_of([&] { mix("x"); }).find("did you mean 'books'"), std::string::npos);
}

TEST(Ngrams, BenchmarksAreFound) {
  auto index = std::make_shared<NgramIndex>(NgramOptions{.n = 5, .shortest = 3, .minimum = 1});
  index->add("The quick brown fox jumps over the lazy dog!");
  index->add("Short one here");
  index->add("too short");
  index->finish();
  EXPECT_EQ(index->items(), 3u);
  EXPECT_EQ(index->too_short(), 1u);
  EXPECT_EQ(index->grams(), 5u + 1u);
  const auto f = decontamination_filter(index)();
  EXPECT_FALSE(f->apply("It said: \"the QUICK, brown fox jumps\" and so on").keep());
  EXPECT_TRUE(f->apply("the quick brown fox and jumps over").keep());
  EXPECT_FALSE(f->apply("a short one, here").keep());
  EXPECT_TRUE(f->apply("too short").keep());
  EXPECT_TRUE(f->apply("").keep());
  auto two = std::make_shared<NgramIndex>(NgramOptions{.n = 5, .shortest = 3, .minimum = 2});
  two->add("The quick brown fox jumps over the lazy dog!");
  two->finish();
  const auto g = decontamination_filter(two)();
  EXPECT_TRUE(g->apply("quick brown fox jumps over").keep());
  EXPECT_FALSE(g->apply("quick brown fox jumps over the").keep());
  EXPECT_THROW(NgramIndex({.n = 1}), Error);
}

TEST(Page, TellsWhatTheManifestTells) {
  const Json m =
      Json::parse(R"({"tool":{"name":"quern <corpus>","version":"1"},"config":{"preset":"zyda","threshold":0.4},
    "config_hash":"ab","read":{"documents":1234567,"text_bytes":2500000000,"bad_json":3,"no_text":0,"bad_utf8":0,
    "too_long":0,"cut":0,"blank":0,"not_text":0,"examples":["x.jsonl:1: <bad>"]},"damaged_files":[],"kept":1000,
    "exact_removed":5,"near_removed":6,"clusters":{"count":2,"largest":9,"removed":11},"rules":[{"rule":"length<100",
    "first":4,"any":4}],"sources":[{"source":"a&b","documents":1234567,"text_bytes":25,"filtered":4,"unlabelled":0,
    "exact_removed":5,"near_removed":6,"kept":1000,"rules_first":{"length<100":4}}],"overlap":[[11]],
    "cluster_sizes":[{"size":2,"clusters":1},{"size":9,"clusters":1}],"stages":[{"name":"read","documents_in":1,
    "documents_out":1,"bytes_in":1,"seconds":0.5,"peak_rss":1000}],
    "pairs":{"pairs_met":7,"pairs_looked_at":7,"below_threshold_estimate":2.0,"missed_estimate":0.4,
    "similarity_bins":[0,7],"survivor_similarity_bins":[1,0]}})");
  ClusterSample c;
  c.size = 9, c.survivor.text = "<script>alert(1)</script>";
  c.removed.resize(1);
  c.removed[0].similarity = 0.5, c.removed[0].text = "near";
  const std::string page = corpus_html_report(m, std::span(&c, 1));
  for (const char* piece : {"quern &lt;corpus&gt;", "a&amp;b", "2.50 GB", "length&lt;100", "&lt;script&gt;alert(1)",
                            "near duplicate, similarity 0.50", "x.jsonl:1: &lt;bad&gt;", "<title>9–16: 1</title>"})
    EXPECT_NE(page.find(piece), std::string::npos) << piece;
  EXPECT_EQ(page.find("There are no such pairs"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);  // nothing from elsewhere
  Json none = m, pairs = m.at("pairs");
  pairs.set("survivor_similarity_bins", Json::parse("[0,0]")), none.set("pairs", std::move(pairs));
  EXPECT_NE(corpus_html_report(none, {}).find("There are no such pairs"), std::string::npos);
}

}  // namespace
}  // namespace quern::corpus
