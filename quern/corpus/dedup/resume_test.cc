// A run cut off anywhere and started again: the bytes of a run that was left alone. Cut by an exception out of the
// progress call, which leaves on disk what a kill would; the binary is killed for real in tests/cli.
#include <chrono>
#include <memory>
#include <set>
#include <thread>

#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup/small_corpus.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class ResumeTest : public SmallCorpus {
 protected:
  DedupReport run(const std::string& out, int cut = -1) {
    int calls = 0;
    return deduplicate(inputs(), config_, root_ / out, [&](const DedupProgress&) {
      if (++calls == cut) throw std::runtime_error("cut off");
    });
  }
};

TEST_F(ResumeTest, CutAnywhereTheBytesAreTheSame) {
  const int before = thread_count();
  set_thread_count(1);
  const DedupReport whole = run("whole");
  const std::string expected = content("whole");
  ASSERT_GT(whole.outputs.size(), 3u);
  EXPECT_EQ(whole.damaged.size(), 1u);
  std::mt19937 random(3);
  uint64_t resumed = 0;
  for (int trial = 0; trial < 20; ++trial) {
    set_thread_count(1 + trial % 2);
    const std::string out = fmt::format("cut{}", trial);
    DedupReport r;
    for (int k = 0;; ++k) {
      try {
        r = run(out, k == 3 ? -1 : 1 + static_cast<int>(random() % (k == 0 ? 80 : 30)));
        break;
      } catch (const std::runtime_error& e) {
        ASSERT_STREQ(e.what(), "cut off");
      }
      ASSERT_TRUE(fs::exists(root_ / out / "unfinished"));
    }
    resumed += r.resumed;
    EXPECT_EQ(r.outputs, whole.outputs);
    EXPECT_EQ(r.kept, whole.kept);
    EXPECT_EQ(r.filtered, whole.filtered);
    EXPECT_EQ(r.damaged, whole.damaged);
    EXPECT_EQ(r.read.json(), whole.read.json());
    EXPECT_EQ(write_value(r.sources), write_value(whole.sources));
    EXPECT_EQ(write_value(r.samples), write_value(whole.samples));
    EXPECT_EQ(write_value(r.pairs), write_value(whole.pairs));
    ASSERT_EQ(content(out), expected) << "trial " << trial;
    fs::remove_all(root_ / out);
  }
  set_thread_count(before);
  EXPECT_GT(resumed, 15u);
}

TEST_F(ResumeTest, AnotherConfigurationStartsOver) {
  const DedupReport whole = run("whole");
  EXPECT_THROW(run("cut", 20), std::runtime_error);
  config_.threshold = 0.9;
  DedupReport r = run("cut");
  EXPECT_TRUE(r.discarded);
  EXPECT_EQ(r.resumed, 0u);
  config_.threshold = 0.4;
  EXPECT_THROW(run("changed", 20), std::runtime_error);
  write_file(root_ / "in/a.jsonl", read_file(root_ / "in/a.jsonl") + "\n");
  r = run("changed");
  EXPECT_TRUE(r.discarded);
  EXPECT_EQ(r.kept, whole.kept);
}

// Its name is the same.
TEST_F(ResumeTest, AnotherModelStartsOver) {
  const fs::path models = QUERN_SOURCE_DIR "/quern/corpus/filters/testdata/fasttext";
  const fs::path model = root_ / "model.bin";
  fs::copy_file(models / "soft.bin", model);
  config_.filters = {fmt::format("fasttext:{}:__label__en:0", model.string())};
  EXPECT_THROW(run("cut", 20), std::runtime_error);
  write_file(model, read_file(models / "tree.bin"));
  const DedupReport r = run("cut");
  EXPECT_TRUE(r.discarded);
  EXPECT_EQ(r.resumed, 0u);
}

// Every kept row has the id that clusters.jsonl.zst names it by.
TEST_F(ResumeTest, ClustersRideOnKeptRows) {
  config_.cluster_field = "cluster";
  run("out");
  const auto unpacked = [&](const std::string& name) {
    const auto in = open_bytes(root_ / "out" / name);
    std::string all, piece(1 << 16, ' ');
    while (const size_t n = in->read(piece.data(), piece.size())) all.append(piece, 0, n);
    return all;
  };
  std::set<int64_t> named;
  std::string rows;
  for (const auto& e : fs::directory_iterator(root_ / "out"))
    if (const std::string name = e.path().filename().string(); name.starts_with("part-")) rows += unpacked(name);
  const auto each = [](const std::string& lines, auto f) {
    for (size_t at = 0, end = 0; at < lines.size(); at = end + 1)
      end = lines.find('\n', at), f(Json::parse(lines.substr(at, end - at)));
  };
  each(rows, [&](const Json& row) { EXPECT_TRUE(named.insert(row.at("cluster").as_int()).second); });
  size_t clusters = 0;
  each(unpacked("clusters.jsonl.zst"), [&](const Json& c) {
    ++clusters;
    EXPECT_TRUE(named.contains(c.at("survivor").as_int()));
    for (const Json& gone : c.at("removed").as_array()) EXPECT_FALSE(named.contains(gone.at("id").as_int()));
  });
  EXPECT_GT(clusters, 100u);
}

TEST_F(ResumeTest, OneProcessAtATime) {
  fs::create_directories(root_ / "busy");
  RunFolder other(root_ / "busy", "x");
  EXPECT_NE(message_of([&] { run("busy"); }).find("is being written by another process"), std::string::npos);
}

// A process that was killed over a whole file leaves it under a name with its number; files of others stay.
TEST_F(ResumeTest, InterruptedFilesGo) {
  const DedupReport whole = run("whole");
  const char* const mine[] = {"clusters.jsonl.zst", "manifest.json", "report.html", "recipe.json", "build.json"};
  const char* const others[] = {"notes", "tokens.idx", "tokens.json"};
  EXPECT_THROW(run("cut", 20), std::runtime_error);
  const auto part = [&](const char* name) { return root_ / "cut" / fmt::format("{}.part29440", name); };
  for (const char* name : mine) write_file(part(name), "half");
  for (const char* name : others) write_file(part(name), "another's");
  const DedupReport r = run("cut");
  EXPECT_GT(r.resumed, 0u);
  EXPECT_EQ(r.kept, whole.kept);
  for (const char* name : mine) EXPECT_FALSE(fs::exists(part(name))) << name;
  for (const char* name : others) EXPECT_TRUE(fs::exists(part(name))) << name;
}

// As after a kill: the one before is on its way out.
TEST_F(ResumeTest, WaitsForALockThatIsLetGo) {
  fs::create_directories(root_ / "soon");
  auto other = std::make_unique<RunFolder>(root_ / "soon", "x");
  std::thread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    other.reset();
  });
  const DedupReport r = run("soon");
  leaves.join();
  EXPECT_GT(r.kept, 0u);
}

// A lock on a folder that the other run removed would keep nobody out.
TEST_F(ResumeTest, NeverTwoAtOnce) {
  fs::create_directories(root_ / "done");
  auto other = std::make_unique<RunFolder>(root_ / "done", "x");
  std::thread leaves([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    other->remove();
    other.reset();
  });
  std::unique_ptr<RunFolder> mine;
  std::string message = message_of([&] { mine = std::make_unique<RunFolder>(root_ / "done", "x"); });
  leaves.join();
  if (mine) message = message_of([&] { RunFolder(root_ / "done", "x"); });
  EXPECT_NE(message.find("is being written by another process"), std::string::npos) << message;
}

// Killed between its manifest and the end: the folder is refused as a finished one, but the leftovers go.
TEST_F(ResumeTest, LeftoversOfAFinishedRunGo) {
  run("done");
  write_file(root_ / "done/manifest.json", "{}");
  fs::create_directories(root_ / "done/unfinished");
  write_file(root_ / "done/unfinished/records", "x");
  {
    RunFolder other(root_ / "done", "x", Ranks(), {.whole_folder = false});
    EXPECT_NE(message_of([&] { run("done"); }).find("already contains a manifest.json"), std::string::npos);
    EXPECT_TRUE(fs::exists(root_ / "done/unfinished"));
  }
  EXPECT_NE(message_of([&] { run("done"); }).find("already contains a manifest.json"), std::string::npos);
  EXPECT_FALSE(fs::exists(root_ / "done/unfinished"));
}

TEST_F(ResumeTest, FunnelsAddUp) {
  const DedupReport r = run("whole");
  ASSERT_EQ(r.sources.size(), 1u);
  const SourceFunnel& f = r.sources[0];
  EXPECT_EQ(f.documents, r.read.documents);
  EXPECT_EQ(f.documents, f.filtered + f.unlabeled + f.exact_removed + f.near_removed + f.kept);
  EXPECT_EQ(f.kept, r.kept);
  EXPECT_EQ(r.overlap[0][0], r.exact_removed + r.near_removed);
  uint64_t clusters = 0, removed = 0;
  for (const auto& [size, n] : r.cluster_sizes) clusters += n, removed += (size - 1) * n;
  EXPECT_EQ(clusters, r.clusters);
  EXPECT_EQ(removed, r.exact_removed + r.near_removed);
  EXPECT_EQ(r.cluster_sizes.back().first, r.largest);
  ASSERT_FALSE(r.samples.empty());
  EXPECT_EQ(r.samples[0].size, r.largest);
  for (const ClusterSample& c : r.samples) {
    EXPECT_FALSE(c.survivor.text.empty());
    for (const SampleDocument& d : c.removed) {
      EXPECT_FALSE(d.text.empty());
      EXPECT_GE(d.similarity, 0.4);
    }
  }
}

// Pairs of a known similarity, met with the chance the bands give them: the estimate of those that were missed.
TEST(PairSamples, MissedPairsAreEstimated) {
  std::mt19937 random(4);
  const BandShape bands{32, 4};
  PairSample s;
  double truth = 0, found = 0;
  for (int i = 0; i < 200000; ++i) {
    const double x = 0.3 + 0.4 * std::uniform_real_distribution<double>()(random);
    const bool met = std::uniform_real_distribution<double>()(random) < collision_probability(x, bands);
    if (met) s.add({.similarity = x, .both_survive = false}, 0.4, bands), found += x >= 0.4;
    truth += !met && x >= 0.4;
  }
  EXPECT_NEAR(s.missed / truth, 1, 0.05);
  EXPECT_EQ(static_cast<double>(s.looked_at - s.below), found);
}

}  // namespace
}  // namespace quern::corpus
