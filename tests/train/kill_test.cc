// kill −9 of whole runs at random moments, in steps, sums and saves alike: they always go on, no committed checkpoint
// is ever unreadable, no more than the checkpoint being written and the steps since is lost, and the model in the end
// is that of a run nobody disturbed, bit for bit. A few kills here; 100 of them with
//   ctest -L slow        or        test_training --gtest_also_run_disabled_tests --gtest_filter='KillRuns*'
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <thread>

#include "quern/base/mmap.h"
#include "quern/comm/mpi.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/supervise/child_process.h"
#include "quern/train/trainer/heartbeat.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kEvery = 10;

void pause(int64_t microseconds) { std::this_thread::sleep_for(std::chrono::microseconds(microseconds)); }

class KillRuns : public testing::Test {
 protected:
  KillRuns() { tiny::write_recipe(folder_.path, "zaya-2-4x2"); }

  fs::path out(const std::string& run) const { return folder_.path / run; }

  std::vector<std::string> words(const std::string& run, int ranks, bool mpi) const {
    const std::string line = fmt::format(
        "exec {0} '{1}' train '{2}' --out '{3}' --resume --heartbeats '{3}/heartbeats' --set phase.0.steps=200 --set "
        "checkpoint.every={4} --set eval.every=0 --set parallel.zero={6} --set parallel.bucket=3000 {5} >'{3}.said' "
        "2>&1",
        mpi ? fmt::format(
                  "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n {}", ranks)
            : "",
        tiny::binary(), (folder_.path / "recipe.toml").string(), out(run).string(), kEvery,
        mpi ? "" : fmt::format("--ranks {}", ranks), zero_ ? 1 : 0);
    return {"sh", "-c", line};
  }

  static void wait(train::ChildProcess& c) {
    while (!c.ended()) pause(1000);
  }

  void look_at_checkpoints(const std::string& run) {
    for (const train::StepFolder& f : train::step_folders(out(run))) {
      torn_ += !f.committed;
      if (!f.committed) continue;
      EXPECT_NO_THROW(train::CheckpointReader(f.path).verify()) << f.path;
    }
  }

  // Kills one of the ranks (in one process: all of them) after a random while; false: the run had ended.
  bool kill_once(train::ChildProcess& c, const std::string& run, int ranks) {
    const fs::path beats = out(run) / "heartbeats";
    std::vector<train::RankState> v;
    while (static_cast<int>((v = train::read_heartbeats(beats)).size()) < ranks && !c.ended()) pause(500);
    // A tenth of them while the run still sets up, the others some steps later and anywhere inside one.
    if (random_.below(10) > 0) {
      while (!c.ended() && (v = train::read_heartbeats(beats))[0].sequence == 0) pause(500);
      const int64_t until = v[0].step + static_cast<int64_t>(random_.below(45));
      while (!c.ended() && train::read_heartbeats(beats)[0].step < until) pause(300);
    }
    pause(static_cast<int64_t>(random_.below(12000)));
    if (c.ended()) return false;
    v = train::read_heartbeats(beats);
    const train::RankState victim = v[random_.below(v.size())];
    if (::kill(victim.pid, SIGKILL) != 0) return false;
    wait(c);
    v = train::read_heartbeats(beats);
    const train::RankState& at = v[static_cast<size_t>(victim.rank)];
    if (at.end == train::RankEnd::finished) return false;  // on its way out
    int64_t step = 0;
    for (const train::RankState& r : v) step = std::max(step, r.step);
    ++sections_[train::section_name(at.section)];
    const auto newest = train::latest_committed(out(run));
    const int64_t kept = newest ? train::CheckpointReader(*newest).step() : 0;
    EXPECT_GE(kept, newest_) << "a committed checkpoint was lost";
    EXPECT_LE(step - kept, kEvery) << "killed at step " << step;
    newest_ = kept, max_lost_ = std::max(max_lost_, step - kept);
    lost_ += std::max<int64_t>(0, step - kept);  // one that had not read its checkpoint yet stands at 0
    return true;
  }

  void kill_runs(int kills, int ranks, bool mpi) {
    {
      train::ChildProcess whole(words("whole", ranks, mpi));
      wait(whole);
      ASSERT_EQ(*whole.ended(), 0) << read_file(out("whole").string() + ".said");
    }
    int done = 0, runs = 0;
    for (; done < kills && !HasFailure(); ++runs) {
      const std::string run = fmt::format("run{}", runs);
      newest_ = 0;
      for (bool over = false; !over && !HasFailure();) {
        fs::remove_all(out(run) / "heartbeats");
        train::ChildProcess c(words(run, ranks, mpi));
        if (done < kills && kill_once(c, run, ranks)) {
          ++done;
          look_at_checkpoints(run);
          continue;
        }
        wait(c);
        ASSERT_EQ(*c.ended(), 0) << read_file(out(run).string() + ".said");
        over = true;
      }
      for (const char* file : {"model/model.safetensors", "step_200/rank_0.bin"})
        EXPECT_TRUE(read_file(out("whole") / file) == read_file(out(run) / file))
            << run << ": " << file << " differs";
      fs::remove_all(out(run));
    }
    fmt::print("{} kills over {} runs ({}):", done, runs, mpi ? "a rank of several processes" : "all ranks at once");
    for (const auto& [section, n] : sections_) fmt::print(" {} in {},", n, section);
    fmt::print(" {} unfinished checkpoints met; steps lost: {:.1f} on average, {} at most (interval {})\n", torn_,
               static_cast<double>(lost_) / std::max(1, done), max_lost_, kEvery);
  }

  tiny::Folder folder_{"kill"};
  Rng random_{static_cast<uint64_t>(::getpid())};
  bool zero_ = false;
  int torn_ = 0;
  int64_t newest_ = 0, max_lost_ = 0, lost_ = 0;
  std::map<std::string, int> sections_;
};

TEST_F(KillRuns, GoOnAndEndAlike) { kill_runs(3, 2, false); }

TEST_F(KillRuns, GoOnAndEndAlikeInShards) {
  zero_ = true;
  kill_runs(3, 2, false);
}

TEST_F(KillRuns, DISABLED_HundredTimes) { kill_runs(100, 2, false); }

TEST_F(KillRuns, DISABLED_HundredTimesInShards) {
  zero_ = true;
  kill_runs(100, 2, false);
}

TEST_F(KillRuns, DISABLED_OneRankOfThree) {
  if (!comm::mpi_built() || std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "no MPI here";
  kill_runs(15, 3, true);
}

}  // namespace
}  // namespace quern
