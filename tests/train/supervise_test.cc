// quern train --supervise with real children that are killed, stopped, slowed down, starved of disk, given damaged
// checkpoints, or fail again and again. What a supervised run ends with is compared with a run nobody disturbed.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <thread>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/comm/mpi.h"
#include "quern/train/checkpoint/format.h"
#include "quern/train/report/metrics.h"
#include "quern/train/supervise/child_process.h"
#include "quern/train/trainer/heartbeat.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kLong = {"--set", "phase.0.steps=240", "--set", "checkpoint.every=20",
                                        "--set", "checkpoint.keep=3", "--set", "eval.every=0"};

// Not gone yet; one that only waits for its parent to ask after it is gone.
bool alive(pid_t pid) {
  const fs::path stat = fmt::format("/proc/{}/stat", pid);
  std::ifstream in(stat);
  std::string text;
  std::getline(in, text);  // nothing where the process went while it was read
  const size_t name = text.rfind(')');
  return name != text.npos && text.size() > name + 2 && text[name + 2] != 'Z';
}

class Supervise : public testing::Test {
 protected:
  Supervise() { tiny::write_recipe(folder_.path, "llama-gqa"); }

  fs::path out(const std::string& run) const { return folder_.path / run; }
  std::vector<std::string> words(const std::string& run, std::vector<std::string> more) const {
    std::vector<std::string> w = {tiny::binary(), "train", (folder_.path / "recipe.toml").string(), "--out",
                                  out(run).string()};
    w.insert(w.end(), kLong.begin(), kLong.end());
    w.insert(w.end(), more.begin(), more.end());
    return w;
  }
  // A shell around it keeps what it says.
  std::vector<std::string> heard(const std::string& run, std::vector<std::string> more,
                                 const std::string& before = "") const {
    std::string line = before + "exec";
    for (const std::string& w : words(run, std::move(more))) line += " '" + w + "'";
    return {"sh", "-c", line + " 2>'" + said_file(run).string() + "'"};
  }
  fs::path said_file(const std::string& run) const { return folder_.path / (run + ".said"); }
  std::string said(const std::string& run) const { return read_file(said_file(run)); }

  int run(const std::vector<std::string>& command) {
    train::ChildProcess c(command);
    return finish(c);
  }
  static int finish(train::ChildProcess& c) {
    for (int i = 0; i < 6000 && !c.ended(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(c.ended()) << "no end after a minute";
    const int status = c.ended() ? *c.ended() : c.end(1);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  // The ranks once all have done so many steps.
  std::vector<train::RankState> wait_for(train::ChildProcess& c, const std::string& run, size_t ranks, int64_t step) {
    for (int i = 0; i < 12000; ++i) {
      const auto v = train::read_heartbeats(out(run) / "heartbeats");
      bool there = v.size() == ranks;
      for (const train::RankState& r : v) there = there && r.step >= step && r.end == train::RankEnd::running;
      if (there) return v;
      if (c.ended()) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    ADD_FAILURE() << run << " never came to step " << step << " with " << ranks << " ranks:\n" << said(run);
    return {};
  }

  std::vector<Json> log(const std::string& run) const {
    std::vector<Json> lines;
    const std::string text = read_file(out(run) / "supervise.jsonl");
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at);
      lines.push_back(Json::parse(text.substr(at, end - at)));
      at = end + 1;
    }
    return lines;
  }
  std::vector<Json> events(const std::string& run, const std::string& kind) const {
    std::vector<Json> v;
    for (const Json& j : log(run))
      if (j.at("event").as_string() == kind) v.push_back(j);
    return v;
  }

  void expect_same_model(const std::string& a, const std::string& b) {
    const std::string file = "model/model.safetensors";
    EXPECT_TRUE(read_file(out(a) / file) == read_file(out(b) / file)) << a << " and " << b << " differ";
  }
  void expect_same_curve(const std::string& a, const std::string& b, double tolerance) {
    const auto x = train::read_metrics(out(a) / "metrics.jsonl").steps,
               y = train::read_metrics(out(b) / "metrics.jsonl").steps;
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(std::abs(x[i].loss - y[i].loss), tolerance) << "step " << x[i].step;
  }

  tiny::Folder folder_{"supervise"};
};

TEST_F(Supervise, AKilledRunGoesOnAsIfNothingHadBeen) {
  ASSERT_EQ(run(heard("whole", {"--ranks", "2"})), 0) << said("whole");
  train::ChildProcess c(heard("run", {"--ranks", "2", "--supervise"}));
  const auto ranks = wait_for(c, "run", 2, 50);
  ASSERT_EQ(ranks.size(), 2u);
  ASSERT_EQ(::kill(ranks[0].pid, SIGKILL), 0);
  ASSERT_EQ(finish(c), 0) << said("run");
  const auto faults = events("run", "fault");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].at("fault").as_string(), "killed");
  EXPECT_GE(faults[0].at("step").as_int(), 50);
  EXPECT_EQ(faults[0].at("action").as_string(), "restart with 2 ranks");
  const auto back = events("run", "recovered");
  ASSERT_EQ(back.size(), 1u);
  EXPECT_LE(back[0].at("steps_lost").as_int(), 20);
  EXPECT_EQ(events("run", "finished").size(), 1u);
  EXPECT_NE(said("run").find("supervise: killed at step"), std::string::npos);
  expect_same_model("whole", "run");
  expect_same_curve("whole", "run", 0);
}

TEST_F(Supervise, AStoppedProcessIsHungAndReplaced) {
  ASSERT_EQ(run(heard("whole", {})), 0) << said("whole");
  train::ChildProcess c(heard("run", {"--supervise", "--set", "supervise.heartbeat_s=1"}));
  const auto ranks = wait_for(c, "run", 1, 45);
  ASSERT_EQ(ranks.size(), 1u);
  ASSERT_EQ(::kill(ranks[0].pid, SIGSTOP), 0);
  ASSERT_EQ(finish(c), 0) << said("run");
  const auto faults = events("run", "fault");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].at("fault").as_string(), "hung");
  EXPECT_LT(faults[0].at("seconds").as_double(), 20) << "heartbeat_s, not its default of 60, and what killing takes";
  EXPECT_FALSE(alive(ranks[0].pid));
  expect_same_model("whole", "run");
}

TEST_F(Supervise, MpiRanksThatAreLostAreDoneWithout) {
  if (!comm::mpi_built() || std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "no MPI here";
  ASSERT_EQ(run(heard("whole", {})), 0) << said("whole");
  const std::string allow = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; ";
  train::ChildProcess c(heard("run",
                              {"--ranks", "3", "--supervise", "--launcher", "mpirun --oversubscribe -n {ranks}",
                               "--set", "supervise.heartbeat_s=5"},
                              allow));
  auto ranks = wait_for(c, "run", 3, 30);
  ASSERT_EQ(ranks.size(), 3u);
  ASSERT_EQ(::kill(ranks[1].pid, SIGKILL), 0);
  ranks = wait_for(c, "run", 2, 60);
  ASSERT_EQ(ranks.size(), 2u);
  ASSERT_EQ(::kill(ranks[1].pid, SIGSTOP), 0);
  ASSERT_EQ(finish(c), 0) << said("run");
  const auto faults = events("run", "fault");
  ASSERT_EQ(faults.size(), 2u) << said("run");
  EXPECT_EQ(faults[0].at("fault").as_string(), "killed");
  EXPECT_EQ(faults[0].at("ranks").as_array(), std::vector<Json>{1});
  EXPECT_EQ(faults[0].at("action").as_string(), "restart with 2 ranks");
  EXPECT_EQ(faults[1].at("fault").as_string(), "hung");
  EXPECT_EQ(faults[1].at("ranks").as_array(), std::vector<Json>{1});
  EXPECT_EQ(faults[1].at("action").as_string(), "restart with 1 rank");
  for (const train::RankState& r : ranks) EXPECT_FALSE(alive(r.pid)) << "rank " << r.rank << " was left behind";
  expect_same_curve("whole", "run", 1e-4);  // other numbers of ranks round otherwise, 240 steps long
}

TEST_F(Supervise, ASlowRankIsNamed) {
  if (!comm::mpi_built() || std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "no MPI here";
  const std::string allow = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; ";
  train::ChildProcess c(heard("run",
                              {"--ranks", "2", "--supervise", "--launcher", "mpirun --oversubscribe -n {ranks}",
                               "--set", "supervise.heartbeat_s=20", "--set", "supervise.slow_steps=8", "--set",
                               "phase.0.steps=2000", "--set", "phase.0.length=200", "--set", "phase.0.rows=16"},
                              allow));
  const auto ranks = wait_for(c, "run", 2, 2);
  ASSERT_EQ(ranks.size(), 2u);
  const pid_t victim = ranks[1].pid;
  for (int i = 0; i < 1500 && !c.ended() && events("run", "slow").empty();
       ++i) {  // a fifth of its time is left to it
    ::kill(victim, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::milliseconds(16));
    ::kill(victim, SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
  const auto slow = events("run", "slow");
  ASSERT_EQ(slow.size(), 1u) << said("run");
  EXPECT_EQ(slow[0].at("rank").as_int(), 1);
  EXPECT_TRUE(events("run", "fault").empty());
  c.end(15);
  for (int i = 0; i < 500 && alive(victim); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(alive(victim)) << "a supervisor that is ended takes its run along";
}

TEST_F(Supervise, DamagedCheckpointsAreSetAsideAndNamed) {
  ASSERT_EQ(run(heard("whole", {})), 0) << said("whole");
  ASSERT_EQ(run(heard("run", {"--steps", "130"})), 0) << said("run");  // 100, 120, 130 stay
  const fs::path newest = out("run") / "step_130" / "rank_0.bin", second = out("run") / "step_120" / "rank_0.bin";
  std::string bytes = read_file(newest);
  bytes[bytes.size() / 3] ^= 8;
  write_file(newest, bytes);
  fs::resize_file(second, fs::file_size(second) - 5);
  ASSERT_EQ(run(heard("run", {"--supervise", "--resume"})), 0) << said("run");
  const auto aside = events("run", "aside");
  ASSERT_EQ(aside.size(), 2u) << said("run");
  EXPECT_EQ(aside[0].at("step").as_int(), 130);
  EXPECT_NE(aside[0].at("text").as_string().find("checksum"), std::string::npos);
  EXPECT_NE(aside[0].at("text").as_string().find("tensor '"), std::string::npos);
  EXPECT_NE(aside[1].at("text").as_string().find("truncated"), std::string::npos);
  EXPECT_TRUE(fs::exists(out("run") / "damaged_step_130" / "rank_0.bin"));
  EXPECT_EQ(events("run", "start")[0].at("step").as_int(), 100);
  expect_same_model("whole", "run");
}

TEST_F(Supervise, AFullDiskThatStaysFullStopsIt) {
  // Files may grow to 64 KiB: heartbeats and metrics fit, checkpoints do not.
  ASSERT_EQ(run(heard("run", {"--supervise"}, "ulimit -f 128; ")), 1) << said("run");
  const auto faults = events("run", "fault");
  ASSERT_EQ(faults.size(), 2u) << said("run");
  for (const Json& f : faults) EXPECT_EQ(f.at("fault").as_string(), "disk_full") << f.dump();
  EXPECT_EQ(faults[0].at("step").as_int(), faults[1].at("step").as_int());
  EXPECT_EQ(events("run", "stopped").size(), 1u);
  EXPECT_NE(said("run").find("the same fault at the same step"), std::string::npos);
  EXPECT_NE(said("run").find("rank_0.bin"), std::string::npos) << "the file is named";
}

TEST_F(Supervise, AFullDiskIsMadeRoomOn) {
  const fs::path small = folder_.path / "small";
  fs::create_directories(small);
  ASSERT_EQ(run(heard("whole", {})), 0) << said("whole");
  int64_t one = 0, state = 0;
  for (const auto& e : fs::recursive_directory_iterator(out("whole") / "step_240"))
    if (e.is_regular_file()) one += static_cast<int64_t>(e.file_size());
  for (const auto& e : fs::recursive_directory_iterator(out("whole")))
    if (e.is_regular_file() && e.path().string().find("step_") == std::string::npos)
      state += static_cast<int64_t>(e.file_size());
  // Two checkpoints and two thirds fit beside what else a run holds; three are to be kept, and a fourth is written.
  const int64_t room = (one * 8 / 3 + state + (1 << 17)) / 1024;
  if (std::system(fmt::format("mount -t tmpfs -o size={}k none '{}' 2>/dev/null", room, small.string()).c_str()) != 0)
    GTEST_SKIP() << "a small file system cannot be mounted here";
  const int code = run(heard("small/run", {"--supervise"}));
  const std::string told = said("small/run");
  std::vector<Json> faults;
  if (fs::exists(out("small/run") / "supervise.jsonl")) faults = events("small/run", "fault");
  if (code == 0) expect_same_model("whole", "small/run");
  ASSERT_EQ(std::system(fmt::format("umount '{}'", small.string()).c_str()), 0);
  EXPECT_EQ(code, 0) << told;
  ASSERT_GE(faults.size(), 1u) << told;
  EXPECT_EQ(faults[0].at("fault").as_string(), "disk_full");
  EXPECT_NE(faults[0].at("action").as_string().find("removed"), std::string::npos);
}

TEST_F(Supervise, WhatRepeatsStopsIt) {
  data::IndexedWriter w(folder_.path / "foreign", data::TokenType::u16);
  w.add(std::vector<int32_t>(2000, 60000));
  w.finish();
  std::ofstream(folder_.path / "recipe.toml", std::ios::app) << R"(
[[phase]]
steps = 30
length = 48
rows = 2
schedule = { peak = 2e-3 }
data = [{ path = "set" }]
[[phase]]
steps = 30
length = 48
rows = 2
schedule = { peak = 2e-3 }
data = [{ path = "foreign" }]
)";
  const std::vector<std::string> as_written = {"--supervise", "--set", "phase.0.steps=30"};
  ASSERT_EQ(run(heard("run", as_written)), 1);
  const auto faults = events("run", "fault");
  ASSERT_EQ(faults.size(), 2u) << said("run");
  for (const Json& f : faults) {
    EXPECT_EQ(f.at("fault").as_string(), "failed");
    EXPECT_EQ(f.at("step").as_int(), 30);
    EXPECT_NE(f.at("text").as_string().find("vocabulary ends at"), std::string::npos);
  }
  EXPECT_EQ(faults[1].at("action").as_string(), "stop");
}

TEST_F(Supervise, BadNumbersAreTheTrainersToTryAgain) {
  ASSERT_EQ(run(heard("run", {"--supervise", "--set", "phase.0.schedule.peak=1e30", "--set", "clip=0", "--set",
                              "checkpoint.every=1", "--set", "spikes.most_rollbacks=1"})),
            1);
  const auto faults = events("run", "fault");
  ASSERT_EQ(faults.size(), 1u) << said("run");
  EXPECT_EQ(faults[0].at("fault").as_string(), "bad_numbers");
  EXPECT_EQ(events("run", "start").size(), 1u);
}

TEST_F(Supervise, MistakesAreNamedBeforeAnythingRuns) {
  EXPECT_EQ(run(heard("a", {"--supervise", "--launcher", "no-such-launcher -n {ranks}"})), 1);
  EXPECT_NE(said("a").find("cannot start no-such-launcher"), std::string::npos) << said("a");
  EXPECT_EQ(run(heard("b", {"--launcher", "mpirun"})), 2);
  EXPECT_EQ(run(heard("c", {"--supervise", "--set", "supervise.heartbeat_s=0"})), 1);
  EXPECT_NE(said("c").find("supervise.heartbeat_s: 0, expected more than 0"), std::string::npos) << said("c");
  ASSERT_EQ(run(heard("d", {"--steps", "2"})), 0);
  EXPECT_EQ(run(heard("d", {"--supervise"})), 1);
  EXPECT_NE(said("d").find("already holds a run"), std::string::npos) << said("d");
}

}  // namespace
}  // namespace quern
