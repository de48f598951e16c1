// The rules by which a fault is named, each with made-up ranks and a made-up clock; and heartbeats through a file.
#include "quern/train/supervise/faults.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>

#include "quern/base/mmap.h"

namespace quern::train {
namespace {

namespace fs = std::filesystem;

constexpr int kKilled = SIGKILL, kCode1 = 1 << 8;  // as waitpid says them

std::vector<RankState> ranks(int n) {
  std::vector<RankState> v(static_cast<size_t>(n));
  for (int r = 0; r < n; ++r) {
    RankState& s = v[static_cast<size_t>(r)];
    s.rank = r, s.ranks = n, s.pid = 100 + r, s.step = 7, s.sequence = 40, s.section = Section::reduce;
  }
  return v;
}

TEST(JudgeEnd, TheRankThatLeftNoWordWasKilled) {
  auto v = ranks(4);
  for (RankState& s : v) s.end = RankEnd::terminated;
  v[2].end = RankEnd::running, v[2].section = Section::compute;
  const Finding f = classify_exit(v, 137 << 8);
  EXPECT_EQ(f.fault, Fault::killed);
  EXPECT_EQ(f.ranks, std::vector{2});
  EXPECT_EQ(f.step, 7);
  EXPECT_NE(f.text.find("compute"), std::string::npos) << f.text;
  EXPECT_EQ(classify_exit(ranks(2), kKilled).ranks, (std::vector{0, 1}));
  EXPECT_EQ(classify_exit(ranks(2), kKilled, {1}).ranks, std::vector{1}) << "the launcher killed the other one";
  EXPECT_EQ(classify_exit(ranks(2), kKilled, {5}).ranks, (std::vector{0, 1}));
  EXPECT_NE(classify_exit(ranks(2), kKilled).text.find("signal 9"), std::string::npos);
}

TEST(JudgeEnd, TheFirstToGoIsBelievedWhenTheLauncherKillsTheOthers) {
  auto v = ranks(3);
  v[1].end = RankEnd::failed, v[1].text = "the data contains token 9";
  EXPECT_EQ(classify_exit(v, kCode1, {1}).fault, Fault::failed);
  EXPECT_EQ(classify_exit(v, kCode1, {1}).text, "the data contains token 9");
  EXPECT_EQ(classify_exit(v, kCode1, {2}).ranks, std::vector{2});

  RankWatch w{SupervisePolicy{}};
  w.look_for_processes({});
  w.look_for_processes({0, 1, 2});
  EXPECT_TRUE(w.gone_first().empty());
  w.look_for_processes({0, 2});
  w.look_for_processes({});
  EXPECT_EQ(w.gone_first(), std::vector{1});
}

TEST(JudgeEnd, WordsAreBelieved) {
  auto v = ranks(2);
  v[1].end = RankEnd::failed,
  v[1].text = fmt::format("checkpoint of step 5: cannot write x: {}", std::strerror(ENOSPC));
  EXPECT_EQ(classify_exit(v, kCode1).fault, Fault::disk_full);
  v[1].text = "the data contains token 9", v[0].end = RankEnd::terminated;
  EXPECT_EQ(classify_exit(v, kCode1).fault, Fault::failed);
  EXPECT_EQ(classify_exit(v, kCode1).text, "the data contains token 9");
  v[1].bad_numbers = true;
  EXPECT_EQ(classify_exit(v, kCode1).fault, Fault::bad_numbers);
  EXPECT_NE(classify_exit({}, kCode1).text.find("with code 1 before any rank"), std::string::npos);
  v[1].bad_numbers = false, v[1].end = RankEnd::terminated;
  EXPECT_EQ(classify_exit(v, SIGTERM).fault, Fault::failed) << "ended from outside: nobody was lost";
}

TEST(RankWatch, AStoppedProcessIsHung) {
  SupervisePolicy p;
  p.heartbeat_s = 3;
  RankWatch w(p);
  auto v = ranks(3);
  for (int i = 0; i < 40; ++i) {  // 20 s, a look every half second
    v[0].pulse = v[1].pulse = i;
    v[2].pulse = std::min(i, 10);
    const auto f = w.look(v, 0.5 * i);
    ASSERT_EQ(f.has_value(), i > 16) << i;  // quiet since 5 s
    if (!f) continue;
    EXPECT_EQ(f->fault, Fault::hung);
    EXPECT_EQ(f->ranks, std::vector{2});
    return;
  }
  FAIL();
}

TEST(RankWatch, TheOneFurthestBehindIsHung) {
  SupervisePolicy p;
  p.step_s = 4, p.checkpoint_s = 8;
  auto v = ranks(3);
  v[1].sequence = 39, v[1].section = Section::compute;
  auto first_at = [&] {
    RankWatch w(p);
    for (int i = 0; i < 60; ++i) {
      for (RankState& s : v) s.pulse = i;
      if (const auto f = w.look(v, 0.5 * i)) {
        EXPECT_EQ(f->ranks, v[0].sequence == 39 ? (std::vector{0, 1, 2}) : std::vector{1}) << f->text;
        return 0.5 * i;
      }
    }
    return -1.0;
  };
  EXPECT_EQ(first_at(), 4.5);
  v[1].section = Section::checkpoint;
  EXPECT_EQ(first_at(), 8.5);
  for (RankState& r : v) r.sequence = 39, r.section = Section::checkpoint;
  EXPECT_EQ(first_at(), 8.5);
  v[1].end = RankEnd::finished, v[1].sequence = 38;
  EXPECT_EQ(first_at(), -1);
}

TEST(RankWatch, TimeItDidNotSeeDoesNotCount) {
  SupervisePolicy p;
  p.heartbeat_s = 3;
  RankWatch w(p);
  const auto v = ranks(2);
  EXPECT_FALSE(w.look(v, 0));
  EXPECT_FALSE(w.look(v, 1000)) << "the watcher itself was asleep";
  for (double t = 1000.5; t <= 1003; t += 0.5) EXPECT_FALSE(w.look(v, t));
  EXPECT_TRUE(w.look(v, 1003.5));
}

TEST(RankWatch, SlowIsToldOnceAfterEnoughSteps) {
  SupervisePolicy p;
  p.slow_steps = 3;
  RankWatch w(p);
  auto v = ranks(4);
  std::vector<int64_t> told;
  for (int i = 0; i < 40; ++i) {
    for (RankState& s : v) s.pulse = s.sequence = i, s.step = i, s.busy_s = 1;
    v[3].busy_s = i == 3 ? 1 : 1.5;  // 1 / 1.5 = 0.67 < 0.7; step 3 breaks the row
    v[1].busy_s = 1.4;               // 0.71
    if (const auto f = w.look(v, 0.1 * i)) {
      EXPECT_EQ(f->fault, Fault::slow);
      EXPECT_EQ(f->ranks, std::vector{3});
      told.push_back(f->step);
    }
  }
  EXPECT_EQ(told, std::vector<int64_t>{6});
}

TEST(Heartbeat, IsReadFromOutside) {
  const fs::path dir = fs::temp_directory_path() / fmt::format("quern_beat_{}", ::getpid());
  EXPECT_TRUE(read_heartbeats(dir).empty());
  {
    Heartbeat a(dir, 0, 2), b(dir, 1, 2), nobody;
    nobody.enter(Section::data, 1);
    write_file(dir / "rank_2", "too short");
    b.enter(Section::optimizer, 12);
    b.busy(0.25);
    a.failed(BadNumbers("loss nan"));
    const auto v = read_heartbeats(dir);
    ASSERT_EQ(v.size(), 2u);
    EXPECT_EQ(v[1].rank, 1);
    EXPECT_EQ(v[1].ranks, 2);
    EXPECT_EQ(v[1].pid, ::getpid());
    EXPECT_EQ(v[1].section, Section::optimizer);
    EXPECT_EQ(v[1].step, 12);
    EXPECT_EQ(v[1].busy_s, 0.25);
    EXPECT_EQ(v[1].end, RankEnd::running);
    EXPECT_EQ(v[0].end, RankEnd::failed);
    EXPECT_TRUE(v[0].bad_numbers);
    EXPECT_EQ(v[0].text, "loss nan");
    for (int i = 0; i < 100 && read_heartbeats(dir)[1].pulse < v[1].pulse + 2; ++i) ::usleep(20000);
    EXPECT_GE(read_heartbeats(dir)[1].pulse, v[1].pulse + 2);
  }
  fs::create_symlink("nowhere", dir / "rank_3");  // listed, but gone when it is opened
  EXPECT_EQ(read_heartbeats(dir).size(), 2u);
  const pid_t child = ::fork();
  if (child == 0) {
    auto* mine = new Heartbeat(dir, 1, 2);
    note_termination();
    ::raise(SIGTERM);
    ::_exit(mine != nullptr);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_EQ(read_heartbeats(dir)[1].end, RankEnd::terminated);
  fs::remove_all(dir);
}

}  // namespace
}  // namespace quern::train
