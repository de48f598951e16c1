// The prefix cache on disk: what comes back is what was stored, after restarts, kills and damage, under any budget.
#include "quern/infer/cache/prefix_disk.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "quern/base/rng.h"
#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/cache/prefix_test_util.h"

namespace quern::infer {
namespace {

namespace fs = std::filesystem;

class PrefixDiskFiles : public testing::TestWithParam<bool> {  // with recurrent state
 protected:
  PrefixDiskFiles() { fs::remove_all(folder_); }
  ~PrefixDiskFiles() override { fs::remove_all(folder_); }

  PrefixDiskOptions options(const std::string& model = "m", int64_t bytes = int64_t{1} << 30) {
    return {.folder = folder_,
            .bytes = bytes,
            .identity = {{"model", model}, {"kv", "f32"}},
            .say = [this](const std::string& line) { said_ += line + "\n"; }};
  }
  std::unique_ptr<PrefixCache> cache(int64_t memory = 1 << 20, const PrefixDiskOptions* o = nullptr) {
    return std::make_unique<PrefixCache>(sites(GetParam()), memory,
                                         PrefixDisk::open(o ? *o : options(), sites(GetParam())));
  }
  void store(PrefixCache& c, const Tokens& t, std::string_view variant = {}) {
    c.store({t, variant}, seen(t, GetParam()), SnapshotKind::turn_end);
  }
  // Whatever it resumes with is what those tokens make.
  PrefixMatch resume(PrefixCache& c, const Tokens& t, std::string_view variant = {}) {
    mixers::SequenceState s(sites(GetParam()));
    PrefixMatch m = c.resume({t, variant}, std::ssize(t), s);
    EXPECT_EQ(s.length(), m.cached);
    expect_state(s, t, GetParam());
    return m;
  }
  std::vector<fs::path> files(const std::string& extension) const {
    std::vector<fs::path> out;
    for (const auto& f : fs::recursive_directory_iterator(folder_))
      if (f.path().extension() == extension) out.push_back(f.path());
    return out;
  }
  int64_t bytes_on_disk() const {
    int64_t n = 0;
    for (const auto& f : fs::recursive_directory_iterator(folder_))
      if (f.is_regular_file() && f.path().filename() != "identity.txt") n += static_cast<int64_t>(f.file_size());
    return n;
  }

  const fs::path folder_ = fs::temp_directory_path() / ("quern-prefix-disk-" + std::to_string(getpid()));
  std::string said_;
};

Tokens counted(int32_t from, int64_t n) {
  Tokens t;
  for (int64_t i = 0; i < n; ++i) t.push_back(from + static_cast<int32_t>(i));
  return t;
}

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_P(PrefixDiskFiles, OutliveTheProcessThatWroteThem) {
  const Tokens a = counted(0, 100), ab = joined(a, counted(500, 50)), ac = joined(counted(0, 60), counted(900, 50));
  {
    const auto c = cache();
    store(*c, a), store(*c, ab), store(*c, ac), store(*c, a, "adapter");
  }
  const auto c = cache();
  EXPECT_EQ(c->bytes(), 0) << "nothing is read before it is needed";
  PrefixMatch m = resume(*c, joined(ab, {7}));
  EXPECT_EQ(m.cached, 150);
  EXPECT_EQ(m.from_disk, 150);
  EXPECT_NE(m.note.find("150 tokens were read from disk"), std::string::npos) << m.note;
  m = resume(*c, joined(ab, {7}));
  EXPECT_EQ(m.cached, 150);
  EXPECT_EQ(m.from_disk, 0) << "now it is in memory";
  m = resume(*c, joined(ac, {7}));
  EXPECT_EQ(m.cached, 110);
  EXPECT_EQ(m.from_disk, 50) << "the rest was in memory";
  EXPECT_EQ(resume(*c, a, "adapter").cached, 100);
  EXPECT_EQ(resume(*c, a, "other").cached, 0);
  const int64_t before = bytes_on_disk();
  store(*c, ab);
  c->disk()->finish();
  EXPECT_EQ(bytes_on_disk(), before) << "what is there is not written twice";
  const fs::perms open = fs::status(files(".rows")[0].parent_path()).permissions();
  EXPECT_EQ(open & (fs::perms::group_all | fs::perms::others_all), fs::perms::none) << "it is what people wrote";
}

// Texts that share and leave each other everywhere, a memory that holds few of them, and a restart now and then.
TEST_P(PrefixDiskFiles, RandomTextsWithLittleMemory) {
  Rng rng(GetParam() ? 5 : 6);
  const auto draw = [&](int64_t n) { return static_cast<int64_t>(rng.uniform() * static_cast<double>(n)); };
  std::vector<Tokens> past;
  int64_t from_disk = 0, reused = 0;
  auto c = cache(12'000);
  for (int i = 0; i < 1500; ++i) {
    if (i % 300 == 299) c.reset(), c = cache(12'000);
    Tokens t;
    if (!past.empty() && rng.uniform() < 0.8) {
      t = past[static_cast<size_t>(draw(std::ssize(past)))];
      if (rng.uniform() < 0.4) t.resize(static_cast<size_t>(draw(std::ssize(t))) + 1);
    }
    for (int64_t n = draw(60) + 1; n > 0; --n) t.push_back(static_cast<int32_t>(draw(3)));
    const PrefixMatch m = resume(*c, t);
    if (HasFatalFailure()) return;
    from_disk += m.from_disk, reused += m.cached;
    store(*c, t);
    EXPECT_LE(c->bytes(), c->budget());
    past.push_back(t);
    if (past.size() > 60) past.erase(past.begin());
  }
  EXPECT_GT(from_disk, 1000);
  EXPECT_GT(reused, from_disk);
}

TEST_P(PrefixDiskFiles, ABudgetDropsWhatWasUsedLongestAgo) {
  PrefixDiskOptions o = options("m", 20'000);
  const auto c = cache(1 << 20, &o);
  for (int32_t k = 0; k < 30; ++k) {
    store(*c, counted(1000 * k, 64));
    resume(*c, counted(0, 64));  // the first is used all the time
    c->disk()->finish();
    EXPECT_LE(bytes_on_disk(), 20'000);
    EXPECT_EQ(bytes_on_disk(), c->disk()->counts().bytes);
  }
  c->clear();
  EXPECT_EQ(resume(*c, counted(0, 64)).cached, 64);
  EXPECT_EQ(resume(*c, counted(29'000, 64)).cached, 64);
  EXPECT_EQ(resume(*c, counted(1000, 64)).cached, 0);
}

TEST_P(PrefixDiskFiles, OtherIdentitiesAreIgnoredAndTheFirstToGo) {
  const Tokens t = counted(0, 100);
  {
    const auto c = cache();
    store(*c, t);
  }
  const int64_t each = bytes_on_disk();
  PrefixDiskOptions q8 = options("m", 2 * each - 1);
  q8.identity[1].second = "q8";
  const auto c = cache(1 << 20, &q8);
  EXPECT_NE(said_.find("is ignored: kv f32 there, q8 here"), std::string::npos) << said_;
  EXPECT_EQ(resume(*c, t).cached, 0);
  store(*c, counted(300, 100));
  c->disk()->finish();
  EXPECT_LE(bytes_on_disk(), 2 * each - 1);
  EXPECT_EQ(resume(*c, counted(300, 100)).cached, 100);
  EXPECT_EQ(resume(*cache(), t).cached, 0) << "it made room";
}

TEST_P(PrefixDiskFiles, DamageIsNoticedAndDropped) {
  const Tokens a = counted(0, 100), ab = joined(a, counted(500, 50));
  for (const char* extension : {".rows", ".state"})
    for (int64_t kind = 0; kind < 4; ++kind) {
      if (!GetParam() && std::string(extension) == ".state") continue;
      fs::remove_all(folder_);
      {
        const auto c = cache();
        store(*c, a), store(*c, ab);
      }
      for (const fs::path& f : files(extension)) {
        const auto size = static_cast<int64_t>(fs::file_size(f));
        std::fstream bytes(f, std::ios::in | std::ios::out | std::ios::binary);
        if (kind < 3) {  // one bit of the last tensor, of the tokens or of the header
          const int64_t at = kind == 0 ? size - 3 : kind == 1 ? size / 2 : 12;
          bytes.seekg(at);
          const char was = static_cast<char>(bytes.get());
          bytes.seekp(at);
          bytes.put(static_cast<char>(was ^ 4));
        } else {
          bytes.close(), fs::resize_file(f, static_cast<uintmax_t>(size / 2));
        }
      }
      said_.clear();
      const auto c = cache();
      EXPECT_EQ(resume(*c, ab).cached, 0) << extension << " " << kind;
      EXPECT_NE(said_.find("removed"), std::string::npos) << extension << " " << kind << ": " << said_;
      store(*c, ab);
      c->clear(), c->disk()->finish();
      EXPECT_EQ(resume(*c, ab).cached, 150) << "written anew: " << extension << " " << kind;
    }
}

TEST_P(PrefixDiskFiles, OnlyADamagedEndIsLost) {
  const Tokens a = counted(0, 100), ab = joined(a, counted(500, 50));
  {
    const auto c = cache();
    store(*c, a), store(*c, ab);
  }
  const auto rows = files(".rows");
  ASSERT_EQ(rows.size(), 2u);
  const fs::path& last = fs::file_size(rows[0]) < fs::file_size(rows[1]) ? rows[0] : rows[1];
  fs::resize_file(last, fs::file_size(last) - 100);
  EXPECT_EQ(resume(*cache(), ab).cached, 100);
}

TEST_P(PrefixDiskFiles, WhatIsGoneIsNotRestored) {
  const auto c = cache();
  store(*c, counted(0, 60));
  c->disk()->finish();
  mixers::SequenceState s(sites(GetParam()));
  const Tokens longer = counted(0, 100);
  EXPECT_FALSE(c->disk()->restore(longer, 0, 100, s, [] { FAIL() << "nothing may be appended"; }));
  EXPECT_EQ(said_.find("removed"), std::string::npos) << "it was no damage: " << said_;
}

TEST_P(PrefixDiskFiles, OneProcessAtATime) {
  const CacheIdentity identity{{"model", "m"}};
  const CacheFolder first(folder_, identity);
  EXPECT_TRUE(first.locked());
  EXPECT_FALSE(CacheFolder(folder_, identity, std::chrono::milliseconds(10)).locked());
  EXPECT_TRUE(CacheFolder(folder_, {{"model", "n"}}).locked()) << "another model is no hindrance";
  EXPECT_EQ(CacheFolder(folder_, {{"model", "n"}}).others().size(), 0u) << "one in use is not to be dropped";
}

// A process that is killed while it writes, several times: what it leaves is right as far as it goes.
TEST_P(PrefixDiskFiles, KilledProcessesLeaveWholeFiles) {
  int64_t resumed = 0;
  for (int round = 0; round < 6; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto c = cache();
      for (int32_t k = 0;; k = (k + 1) % 400) {
        store(*c, joined(counted(0, 40 + k), counted(10'000 * round + k, 300)));
        if (k == 20) c->disk()->finish();
        if (k == 20) [[maybe_unused]]
          const auto sent = write(ready[1], "x", 1);
      }
    }
    char x = 0;
    ASSERT_EQ(read(ready[0], &x, 1), 1);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    close(ready[0]), close(ready[1]);
    const auto c = cache();
    for (int32_t k = 0; k < 400; k += 7)
      resumed += resume(*c, joined(counted(0, 40 + k), counted(10'000 * round + k, 300))).cached;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(resumed, 1000);
  EXPECT_EQ(said_.find("damaged"), std::string::npos) << said_;
}

TEST_P(PrefixDiskFiles, AFolderThatCannotBeMadeIsRefused) {
  const auto with = [&](const fs::path& folder) {
    PrefixDiskOptions o = options();
    o.folder = folder;
    return PrefixDisk::open(o, sites(GetParam()));
  };
  std::ofstream(folder_) << "a file";
  EXPECT_THROW(with(folder_), Error);
  fs::remove(folder_);
}

INSTANTIATE_TEST_SUITE_P(States, PrefixDiskFiles, testing::Bool(),
                         [](const auto& p) { return std::string(p.param ? "recurrent" : "attention"); });

}  // namespace
}  // namespace quern::infer
