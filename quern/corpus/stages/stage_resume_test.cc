// Stages cut off anywhere and started again: the bytes of a run that was left alone. Cut by an exception out of the
// progress call, which leaves on disk what a kill would; the binary is killed for real in tests/cli.
#include "quern/base/test_message.h"
#include "quern/base/threads.h"
#include "quern/corpus/dedup/small_corpus.h"
#include "quern/corpus/filters/filters.h"
#include "quern/corpus/stages/filter_stage.h"
#include "quern/corpus/stages/mix.h"
#include "quern/corpus/stages/sketches.h"
#include "quern/corpus/stages/token_shards.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class StageResumeTest : public SmallCorpus {
 protected:
  StageResumeTest() { scan_.block_bytes = 32 << 10; }
  StageOutput output(const std::string& out, uint64_t shard_bytes = 200000) const {
    return {.folder = root_ / out, .shard_bytes = shard_bytes, .checkpoint_bytes = 1};
  }
  Inputs sources() const {
    const std::string in = (root_ / "in").string();
    return find_inputs(std::vector<std::string>{"a=" + in + "/a.jsonl", "b=" + in + "/b.jsonl.zst"});
  }
  // run(folder, progress) gives the stage's counts as text, and whether it went on.
  using Run = std::function<std::pair<std::string, ResumeInfo>(const std::string&, const ScanProgress&)>;
  void cut_everywhere(const Run& run) {
    const int before = thread_count();
    set_thread_count(1);
    int calls = 0;
    const auto [counts, first] = run("whole", [&](uint64_t, uint64_t) { ++calls; });
    EXPECT_EQ(first.resumed, 0u);
    ASSERT_GT(calls, 10);
    const std::string expected = content("whole");
    EXPECT_FALSE(fs::exists(root_ / "whole/unfinished"));
    std::mt19937 random(5);
    uint64_t resumed = 0;
    for (int trial = 0; trial < 12; ++trial) {
      set_thread_count(1 + trial % 2);
      const std::string out = fmt::format("cut{}", trial);
      for (int k = 0;; ++k) {
        int left = k == 3 ? -1 : 1 + static_cast<int>(random() % static_cast<unsigned>(calls));
        try {
          const auto [again, went_on] = run(out, [&](uint64_t, uint64_t) {
            if (--left == 0) throw std::runtime_error("cut off");
          });
          EXPECT_EQ(again, counts);
          resumed += went_on.resumed;
          break;
        } catch (const std::runtime_error& e) {
          ASSERT_STREQ(e.what(), "cut off");
        }
      }
      ASSERT_EQ(content(out), expected) << "trial " << trial;
      fs::remove_all(root_ / out);
    }
    set_thread_count(before);
    EXPECT_GT(resumed, 6u);
  }
  ScanOptions scan_;
};

TEST_F(StageResumeTest, Filter) {
  const Inputs in = inputs();
  cut_everywhere([&](const std::string& out, const ScanProgress& progress) {
    const FilterRun run{.make = find_filter("zyda+gopher-quality"),
                        .what = "zyda+gopher-quality",
                        .scan = scan_,
                        .rejects = true,
                        .reasons = true,
                        .to = output(out)};
    bool finished = false;
    FilterReport r = filter_corpus(in, run, progress, [&](const FilterReport&) { finished = true; });
    EXPECT_TRUE(finished);
    EXPECT_GT(r.rejected, 0u);
    r.seconds = 0;
    return std::pair(r.json().dump(), r.went_on);
  });
  EXPECT_EQ(fs::status(root_ / "whole/reasons.jsonl").permissions(),
            fs::status(root_ / "whole/part-00000.jsonl.zst").permissions());
}

TEST_F(StageResumeTest, Mix) {
  const Inputs in = sources();
  cut_everywhere([&](const std::string& out, const ScanProgress& progress) {
    const MixConfig c{.shares = {{"a", 3}, {"b", 1}}, .seed = 7, .to = output(out)};
    const MixReport r = mix_corpus(in, scan_, c, progress);
    EXPECT_GT(r.files.size(), 2u);
    return std::pair(r.json().dump(), r.went_on);
  });
}

TEST_F(StageResumeTest, Sketch) {
  const Inputs in = inputs();
  cut_everywhere([&](const std::string& out, const ScanProgress& progress) {
    const SketchesReport r = write_sketches(in, scan_, config_.sketch, output(out), progress);
    return std::pair(r.scan.read.json().dump(), r.went_on);
  });
}

TEST_F(StageResumeTest, Tokenize) {
  const Inputs in = inputs();
  const text::Tokenizer t = text::Tokenizer::load(QUERN_SOURCE_DIR "/models/zaya-nano");
  cut_everywhere([&](const std::string& out, const ScanProgress& progress) {
    const TokenRun run{.scan = scan_, .tokenizer = "nano", .prefix = root_ / out / "tokens", .checkpoint_bytes = 1};
    const TokenShardReport r = write_token_shards(in, t, run, progress);
    EXPECT_GT(r.tokens, 1000u);
    return std::pair(r.json().dump(), r.went_on);
  });
}

// What a killed process left of its whole files goes; those of a run with another lock in the folder stay.
TEST_F(StageResumeTest, InterruptedFilesGo) {
  const Inputs in = inputs();
  const text::Tokenizer t = text::Tokenizer::load(QUERN_SOURCE_DIR "/models/zaya-nano");
  const char* const names[] = {"tokens.idx", "tokens.json", "other.idx", "other.json", "manifest.json", "build.json"};
  fs::create_directories(root_ / "out");
  const auto left = [&] {
    std::vector<std::string> parts;
    for (const char* name : names)
      if (fs::exists(root_ / "out" / fmt::format("{}.part29440", name))) parts.push_back(name);
    return parts;
  };
  for (const char* name : names) write_file(root_ / "out" / fmt::format("{}.part29440", name), "half");
  write_token_shards(in, t, {.scan = scan_, .tokenizer = "nano", .prefix = root_ / "out/tokens"});
  EXPECT_EQ(left(), (std::vector<std::string>{"other.idx", "other.json", "manifest.json", "build.json"}));
  // A stage that has its folder alone refuses one with files of others.
  EXPECT_NE(
      message_of([&] { write_sketches(in, scan_, config_.sketch, output("out")); }).find("out holds build.json"),
      std::string::npos);
  EXPECT_FALSE(fs::exists(root_ / "out/unfinished"));
  EXPECT_EQ(left(), (std::vector<std::string>{"other.idx", "other.json", "manifest.json", "build.json"}));
}

// Another filter, a finished folder: nothing of the old run is gone on with.
TEST_F(StageResumeTest, AnotherStageStartsOver) {
  const Inputs in = inputs();
  const auto run = [&](const std::string& filter, int cut) {
    const FilterRun r{.make = find_filter(filter), .what = filter, .scan = scan_, .to = output("out")};
    return filter_corpus(in, r, [&](uint64_t, uint64_t) {
      if (--cut == 0) throw std::runtime_error("cut off");
    });
  };
  EXPECT_THROW(run("zyda", 8), std::runtime_error);
  ASSERT_TRUE(fs::exists(root_ / "out/unfinished/state.json"));
  const FilterReport r = run("c4", -1);
  EXPECT_TRUE(r.went_on.discarded);
  EXPECT_EQ(r.went_on.resumed, 0u);
  EXPECT_EQ(r.kept + r.rejected, r.scan.read.documents);
  write_file(root_ / "out/manifest.json", "{}");
  EXPECT_THROW(run("c4", -1), Error);
}

}  // namespace
}  // namespace quern::corpus
