// A finished run that another one replaces: at no moment is it half in one place and taken for whole, or lost too early.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "quern/base/mmap.h"
#include "quern/corpus/io/run_manifest.h"
#include "quern/corpus/run/run_folder.h"

namespace quern::corpus {
namespace {

namespace fs = std::filesystem;

class ReplacedRun : public ::testing::Test {
 protected:
  ReplacedRun() : root_(fs::temp_directory_path() / fmt::format("quern-replaced-{}", ::getpid())) {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~ReplacedRun() override { fs::remove_all(root_); }
  // Does what a stage does, up to the removal of its unfinished folder.
  void write_run(RunFolder& run, int files, const std::string& text) {
    for (int i = 0; i < files; ++i) {
      const std::string name = fmt::format("part-{:05}.jsonl.zst", i);
      list_file(root_ / RunFolder::kName, {name, true});
      write_file(root_ / name, text);
    }
    write_manifest(root_, Json::object());
    run.save(Json::object());
  }
  void finish_run(int files, const std::string& text) {
    RunFolder run(root_, text);
    write_run(run, files, text);
    run.remove();
  }
  fs::path manifest() const { return root_ / "manifest.json"; }
  fs::path aside() const { return root_ / RunFolder::kName / kReplaced; }
  fs::path root_;
};

// A folder of replaced files without their manifest, below a finished run, is what a kill while they were set aside
// leaves: they would be put back over the new ones.
TEST_F(ReplacedRun, IsNotPutBackWhenARemovalIsCutOff) {
  finish_run(300, "old");
  replace_finished(manifest(), {});
  RunFolder run(root_, "new");
  write_run(run, 1, "new");
  std::atomic<bool> done = false, seen = false;
  std::thread watch([&] {
    while (!done)
      if (!fs::exists(aside() / "manifest.json") && fs::is_directory(aside())) seen = true;
  });
  run.remove();
  done = true;
  watch.join();
  EXPECT_FALSE(seen);
  EXPECT_FALSE(fs::exists(root_ / RunFolder::kName));
  EXPECT_EQ(read_file(root_ / "part-00000.jsonl.zst"), "new");
  // Cut off in the middle, what is left goes.
  fs::create_directories(root_ / RunFolder::kName / kGone);
  write_file(root_ / RunFolder::kName / kGone / "part-00000.jsonl.zst", "old");
  EXPECT_THROW(refuse_finished(root_), std::exception);
  EXPECT_FALSE(fs::exists(root_ / RunFolder::kName));
  EXPECT_EQ(read_file(root_ / "part-00000.jsonl.zst"), "new");
}

TEST_F(ReplacedRun, StaysWhileLaterStagesAreToCome) {
  finish_run(2, "old");
  replace_finished(manifest(), {});
  RunFolder run(root_, "new");
  write_file(root_ / kLaterStages, "{}");
  write_run(run, 1, "new");
  run.remove();
  EXPECT_EQ(read_file(aside() / "part-00001.jsonl.zst"), "old");
  EXPECT_FALSE(fs::exists(root_ / RunFolder::kName / "state.json"));
  EXPECT_THROW(refuse_finished(root_), std::exception);
  EXPECT_TRUE(fs::exists(aside() / "manifest.json"));
  remove_work(root_ / RunFolder::kName);
  EXPECT_FALSE(fs::exists(root_ / RunFolder::kName));
}

// The run that was to take the place of a complete one is itself replaced before it was complete.
TEST_F(ReplacedRun, TheLastCompleteOneStaysUntilAnotherIs) {
  finish_run(2, "old");
  replace_finished(manifest(), {});
  {
    RunFolder run(root_, "new");
    write_file(root_ / kLaterStages, "{}");
    list_file(root_ / RunFolder::kName, {kLaterStages});
    fs::create_directories(root_ / "mixed");
    write_file(root_ / "mixed/part-00000.jsonl.zst", "half");
    list_file(root_ / RunFolder::kName, {"mixed/part-00000.jsonl.zst", true});
    write_run(run, 3, "new");
    run.remove();
  }
  std::atomic<bool> done = false, lost = false;
  std::thread watch([&] {
    while (!done)
      if (!fs::exists(aside() / "manifest.json")) lost = true;
  });
  replace_finished(manifest(), {});
  for (const char* name : {"manifest.json", "part-00000.jsonl.zst", "mixed"}) EXPECT_FALSE(fs::exists(root_ / name));
  EXPECT_FALSE(fs::exists(root_ / kLaterStages));
  { RunFolder killed(root_, "newest"); }
  RunFolder again(root_, "newest");
  done = true;
  watch.join();
  EXPECT_FALSE(lost);
  EXPECT_EQ(read_file(aside() / "part-00001.jsonl.zst"), "old");
  write_run(again, 1, "newest");
  again.remove();
  EXPECT_FALSE(fs::exists(root_ / RunFolder::kName));
  EXPECT_EQ(read_file(root_ / "part-00000.jsonl.zst"), "newest");
}

// A kill between its manifest and the note of its later stages leaves nothing that stands in the way.
TEST_F(ReplacedRun, AnIncompleteOneThatIsCutOffGoes) {
  finish_run(1, "old");
  replace_finished(manifest(), {});
  list_file(root_ / RunFolder::kName, {kLaterStages});
  write_file(root_ / kLaterStages, "{}");
  replace_finished(manifest(), {});
  RunFolder run(root_, "new");
  EXPECT_FALSE(fs::exists(root_ / kLaterStages));
  EXPECT_EQ(read_file(aside() / "part-00000.jsonl.zst"), "old");
}

// Its manifest moves last, behind the folders that are empty without its files.
TEST_F(ReplacedRun, LeavesNoEmptyFolders) {
  finish_run(1, "old");
  fs::create_directories(root_ / "mixed");
  write_file(root_ / "mixed/part-00000.jsonl.zst", "old");
  write_file(manifest(), R"({"files":{"part-00000.jsonl.zst":"rows","mixed/part-00000.jsonl.zst":"rows"}})");
  std::atomic<bool> done = false, seen = false;
  std::thread watch([&] {
    while (!done)
      if (!fs::exists(manifest()) && fs::exists(root_ / "mixed")) seen = true;
  });
  replace_finished(manifest(), {});
  done = true;
  watch.join();
  EXPECT_FALSE(seen);
  EXPECT_FALSE(fs::exists(root_ / "mixed"));
  EXPECT_EQ(read_file(aside() / "mixed/part-00000.jsonl.zst"), "old");
}

// What a killed run made, and the one in its place does not, goes.
TEST_F(ReplacedRun, LeavesNoFileThatTheNextOneDoesNotMake) {
  RunNames names{.folder = "x.unfinished", .whole_files = {"x.bin", "x.rows"}, .whole_folder = false};
  { RunFolder killed(root_, "with rows", Ranks(), names); }
  write_file(root_ / "x.rows", "old"), write_file(root_ / "y.rows", "another's");
  names.whole_files = {"x.bin"};
  RunFolder run(root_, "without rows", Ranks(), names);
  EXPECT_FALSE(fs::exists(root_ / "x.rows"));
  EXPECT_TRUE(fs::exists(root_ / "y.rows"));
}

// A process that was killed while it set a run aside, in the current folder.
TEST_F(ReplacedRun, IsPutBackIntoTheCurrentFolder) {
  const fs::path before = fs::current_path();
  fs::current_path(root_);
  write_file("x.json", R"({"files":{"x.bin":"other"}})");
  fs::create_directories(fs::path("x.unfinished") / kReplaced);
  write_file(fs::path("x.unfinished") / kReplaced / "x.bin", "old");
  EXPECT_NO_THROW(replace_finished("x.json", {}, OutFolder::shared));
  EXPECT_EQ(read_file(fs::path("x.unfinished") / kReplaced / "x.bin"), "old");
  EXPECT_TRUE(fs::exists(fs::path("x.unfinished") / kReplaced / "x.json"));
  fs::current_path(before);
}

}  // namespace
}  // namespace quern::corpus
