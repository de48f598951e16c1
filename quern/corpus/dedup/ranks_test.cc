// Many ranks do the work of one: the same bytes and the same report for any number of them, cut off or not.
#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/comm/in_process.h"
#include "quern/corpus/dedup/small_corpus.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class RanksTest : public SmallCorpus {
 protected:
  DedupReport run(int ranks, const std::string& out, int cut = -1) {
    DedupReport first;
    int calls = 0, finished = 0;
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      DedupReport r = deduplicate(
          inputs(), config_, root_ / out,
          [&](const DedupProgress&) {
            if (++calls == cut) fail("cut off");
          },
          [&](const DedupReport&) { ++finished; }, &c);
      if (c.rank() == 0) first = std::move(r);
    });
    EXPECT_EQ(finished, 1);
    return first;
  }
  // All of a report that is not a time or a size of memory.
  static std::string told(DedupReport r) {
    for (StageReport& s : r.stages) s.seconds = 0, s.peak_rss = 0;
    r.resumed = 0, r.discarded = false;
    return write_value(r).dump(1);
  }
};

TEST_F(RanksTest, AnyNumberGivesTheSame) {
  struct Case {
    const char* name;
    std::function<void(DedupConfig&)> change;
  };
  const Case cases[] = {
      {"as it is", [](DedupConfig&) {}},
      {"small memory", [](DedupConfig& c) { c.memory = 1; }},
      {"signature, closure",
       [](DedupConfig& c) { c.verify = Verification::signature, c.clustering = Clustering::closure; }},
      {"unverified, collide", [](DedupConfig& c) { c.verify = Verification::none, c.collide_empty = true; }},
      {"exact", [](DedupConfig& c) { c.near = false; }},
      {"two rows a band",
       [](DedupConfig& c) {
         c.bands = {64, 2};
       }},
  };
  for (const Case& one : cases) {
    const DedupConfig before = config_;
    one.change(config_);
    const std::string expected = told(run(1, "one"));
    const std::string bytes = content("one");
    for (int ranks : {2, 4}) {
      EXPECT_EQ(told(run(ranks, "many")), expected) << one.name << ", ranks " << ranks;
      EXPECT_EQ(content("many"), bytes) << one.name << ", ranks " << ranks;
      fs::remove_all(root_ / "many");
    }
    fs::remove_all(root_ / "one");
    config_ = before;
  }
}

TEST_F(RanksTest, CutAnywhereTheBytesAreTheSame) {
  run(1, "whole");
  const std::string expected = content("whole");
  std::mt19937 random(5);
  uint64_t resumed = 0;
  for (int trial = 0; trial < 8; ++trial) {
    const int ranks = 2 + trial % 2;
    const std::string out = fmt::format("cut{}", trial);
    for (int k = 0;; ++k) {
      const std::string message = message_of([&] {
        resumed += run(ranks, out, k == 3 ? -1 : 1 + static_cast<int>(random() % (k == 0 ? 40 : 15))).resumed;
      });
      if (message.empty()) break;
      ASSERT_NE(message.find("cut off"), std::string::npos) << message;
    }
    ASSERT_EQ(content(out), expected) << "trial " << trial;
    fs::remove_all(root_ / out);
  }
  EXPECT_GT(resumed, 4u);
}

// The first rank fails on its way into the second reading, where another one is already.
TEST_F(RanksTest, TheFirstRankFailsBeforeItWrites) {
  run(1, "whole");
  const fs::path frames = root_ / "cut/unfinished/rank-000/frames", other = root_ / "cut/unfinished/rank-001";
  const std::string message = message_of([&] {
    comm::run_ranks(2, [&](comm::Communicator& c) {
      deduplicate(
          inputs(), config_, root_ / "cut", [&](const DedupProgress&) { fs::create_directories(frames); }, {}, &c);
    });
  });
  EXPECT_NE(message.find("rank-000/frames"), std::string::npos) << message;
  EXPECT_EQ(Json::read(other / "state.json").at("phase").as_string(), "write");
  fs::remove(frames);
  EXPECT_EQ(run(2, "cut").resumed, 1u);
  EXPECT_EQ(content("cut"), content("whole"));
}

TEST_F(RanksTest, AnotherNumberStartsOver) {
  run(1, "whole");
  for (const auto& [before, after] : {std::pair<int, int>(2, 1), {1, 2}, {3, 2}, {2, 3}}) {
    EXPECT_NE(message_of([&] { run(before, "cut", 10); }), "");
    EXPECT_TRUE(run(after, "cut").discarded) << before << " then " << after;
    EXPECT_EQ(content("cut"), content("whole"));
    fs::remove_all(root_ / "cut");
  }
}

}  // namespace
}  // namespace quern::corpus
