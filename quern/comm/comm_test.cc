// One suite for every kind of rank. Alone, this program runs it on threads, for several rank counts, and then starts
// itself under mpirun, where the same suite runs on MPI processes; the bits of both must agree.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>
#include <numeric>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/comm/comm_test_world.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"

namespace quern::comm {
namespace {

TEST(Comm, EvenCutCoversEverything) {
  for (int64_t n : {int64_t{0}, int64_t{1}, int64_t{5}, int64_t{4096}, int64_t{1} << 60})
    for (int ranks : {1, 2, 3, 8}) {
      int64_t at = 0, minimum = n, maximum = 0;
      for (int r = 0; r < ranks; ++r) {
        const Range c = even_range(n, ranks, r);
        EXPECT_EQ(c.begin, at);
        at = c.end;
        minimum = std::min(minimum, c.end - c.begin), maximum = std::max(maximum, c.end - c.begin);
      }
      EXPECT_EQ(at, n);
      EXPECT_LE(maximum - minimum, 1);
    }
}

template <class T>
void check_all_reduce() {
  every_world([](Communicator& c) {
    for (int64_t n : {0, 1, 3, 5000, 100001}) {
      std::vector<T> x = values<T>(c.rank(), n);
      c.all_reduce(x);
      expect_same_bits(x, summed<T>(c.size(), n));
    }
  });
}
TEST(Comm, ASingleRankHasOnlyItself) {
  const std::unique_ptr<Communicator> rank = single_rank();
  EXPECT_EQ(rank->rank(), 0);
  EXPECT_EQ(rank->size(), 1);
  rank->barrier();
  EXPECT_EQ(rank->all_reduce(int64_t{7}), 7);
  EXPECT_EQ(rank->broadcast_text("word"), "word");
  EXPECT_EQ(rank->split(0, 0)->size(), 1);
}

TEST(Comm, AllReduceSumsInOrderOfRank) {
  check_all_reduce<float>();
  check_all_reduce<double>();
  check_all_reduce<int64_t>();
}

TEST(Comm, OrderOfAddingMatters) {  // or the test above would pass for any order
  std::vector<float> backwards = values<float>(3, 5000);
  for (int r = 2; r >= 0; --r) {
    const std::vector<float> v = values<float>(r, 5000);
    for (size_t i = 0; i < v.size(); ++i) backwards[i] += v[i];
  }
  EXPECT_NE(std::memcmp(backwards.data(), summed<float>(4, 5000).data(), 5000 * sizeof(float)), 0);
}

TEST(Comm, MaxAndNan) {
  every_world([](Communicator& c) {
    EXPECT_EQ(c.all_reduce(static_cast<double>(-c.rank()), ReduceOp::max), 0);
    EXPECT_EQ(c.all_reduce(int64_t{c.rank()}, ReduceOp::max), c.size() - 1);
    EXPECT_EQ(c.all_reduce(int64_t{1}), c.size());
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (int where = 0; where < c.size(); ++where) {
      EXPECT_TRUE(std::isnan(c.all_reduce(c.rank() == where ? nan : 1.0, ReduceOp::max)));
      EXPECT_TRUE(std::isnan(c.all_reduce(c.rank() == where ? nan : 1.0)));
    }
  });
}

std::vector<int64_t> uneven(int ranks) {  // 0, 7, 14, 0, 28, …
  std::vector<int64_t> c;
  for (int r = 0; r < ranks; ++r) c.push_back(r % 3 == 0 ? 0 : 7 * r);
  return c;
}

TEST(Comm, ReduceScatterOfUnevenPieces) {
  every_world([](Communicator& c) {
    const std::vector<int64_t> counts = uneven(c.size());
    const int64_t n = std::accumulate(counts.begin(), counts.end(), int64_t{0});
    const std::vector<double> in = values<double>(c.rank(), n), all = summed<double>(c.size(), n);
    const auto at = std::accumulate(counts.begin(), counts.begin() + c.rank(), int64_t{0});
    std::vector<double> out(static_cast<size_t>(counts[static_cast<size_t>(c.rank())]));
    c.reduce_scatter(in, counts, out);
    expect_same_bits(out, std::vector<double>(all.begin() + at, all.begin() + at + static_cast<int64_t>(out.size())));
    std::vector<float> even(5);
    c.reduce_scatter(values<float>(c.rank(), 5 * c.size()), even);
    const std::vector<float> sums = summed<float>(c.size(), 5 * c.size());
    expect_same_bits(even, std::vector<float>(sums.begin() + 5 * c.rank(), sums.begin() + 5 * c.rank() + 5));
  });
}

TEST(Comm, AllGather) {
  every_world([](Communicator& c) {
    std::vector<int64_t> counts = uneven(c.size());
    std::vector<int32_t> expected;
    for (int r = 0; r < c.size(); ++r) expected.insert(expected.end(), static_cast<size_t>(counts[r]), 100 + r);
    std::vector<int32_t> out(expected.size(), -1);
    c.all_gather(std::vector<int32_t>(static_cast<size_t>(counts[c.rank()]), 100 + c.rank()), counts, out);
    EXPECT_EQ(out, expected);
    // In place, as ZeRO gathers weights.
    std::vector<float> w(static_cast<size_t>(4 * c.size()), -1);
    const std::span<float> mine = std::span(w).subspan(static_cast<size_t>(4 * c.rank()), 4);
    std::iota(mine.begin(), mine.end(), static_cast<float>(4 * c.rank()));
    c.all_gather(mine, w);
    for (size_t i = 0; i < w.size(); ++i) EXPECT_EQ(w[i], static_cast<float>(i));
    const std::vector<std::string> texts = c.all_gather_text(std::string(static_cast<size_t>(c.rank()), 'x'));
    for (int r = 0; r < c.size(); ++r) EXPECT_EQ(texts[r], std::string(static_cast<size_t>(r), 'x'));
  });
}

TEST(Comm, BroadcastSmallAndLarge) {
  every_world([](Communicator& c) {
    for (int64_t n : {0, 1, 1000, 100003})
      for (int root = 0; root < c.size(); ++root) {
        const std::vector<float> expected = values<float>(root + 50, n);
        std::vector<float> x = c.rank() == root ? expected : std::vector<float>(static_cast<size_t>(n));
        c.broadcast(x, root);
        expect_same_bits(x, expected);
      }
    EXPECT_EQ(c.broadcast_text(c.rank() == 0 ? "hear" : "", 0), "hear");
  });
}

TEST(Comm, AllToAll) {
  every_world([](Communicator& c) {  // rank a sends b + 2a elements "100a + b" to rank b, none to itself
    std::vector<int64_t> in_counts, out_counts;
    std::vector<int64_t> in, expected;
    for (int r = 0; r < c.size(); ++r) {
      in_counts.push_back(r == c.rank() ? 0 : r + 2 * c.rank());
      out_counts.push_back(r == c.rank() ? 0 : c.rank() + 2 * r);
      in.insert(in.end(), static_cast<size_t>(in_counts.back()), 100 * c.rank() + r);
      expected.insert(expected.end(), static_cast<size_t>(out_counts.back()), 100 * r + c.rank());
    }
    std::vector<int64_t> out(expected.size());
    c.all_to_all(in, in_counts, out, out_counts);
    EXPECT_EQ(out, expected);
  });
}

TEST(Comm, CountsWhatItHandsOver) {
  every_world([](Communicator& c) {
    const int64_t others = c.size() - 1, n = 10000 * c.size();
    std::vector<float> x(static_cast<size_t>(n));
    const Communicator::Sent before = c.sent();
    c.all_reduce(x);  // a piece to everybody there and back
    EXPECT_EQ(c.sent().messages - before.messages, 2 * others);
    EXPECT_EQ(c.sent().bytes - before.bytes, 2 * others * 40000);
    Transfer in = c.start_recv(std::span(x).subspan(0, 3), c.rank(), 5);
    c.send(std::span(x).subspan(3, 3), c.rank(), 5);  // to itself: nothing leaves
    in.wait();
    EXPECT_EQ(c.sent().messages - before.messages, 2 * others);
  });
}

struct SumAndMost {
  int64_t sum, maximum;
};

TEST(Comm, NativeReductionOfRecords) {
  const RecordMerge merge{
      sizeof(SumAndMost), [](const std::byte* l, const std::byte* r, std::byte* into, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          const auto a = reinterpret_cast<const SumAndMost*>(l)[i], b = reinterpret_cast<const SumAndMost*>(r)[i];
          reinterpret_cast<SumAndMost*>(into)[i] = {a.sum + b.sum, std::max(a.maximum, b.maximum)};
        }
      }};
  every_world([&](Communicator& c) {
    std::vector<SumAndMost> x(700, {c.rank() + 1, -c.rank()});
    const bool there = c.native_all_reduce(std::as_writable_bytes(std::span(x)), merge);
    EXPECT_EQ(there, mpi_world != nullptr);
    for (const SumAndMost& s : x) {
      EXPECT_EQ(s.sum, there ? c.size() * (c.size() + 1) / 2 : c.rank() + 1);
      EXPECT_EQ(s.maximum, there ? 0 : -c.rank());
    }
  });
}

TEST(Comm, MessagesKeepTheirOrder) {
  every_world([](Communicator& c) {
    const int right = (c.rank() + 1) % c.size(), left = (c.rank() + c.size() - 1) % c.size();
    std::vector<int64_t> a{c.rank(), 1}, b{c.rank(), 2}, other{c.rank(), 3};
    std::vector<Transfer> sent;
    sent.push_back(c.start_send(a, right));
    sent.push_back(c.start_send(other, right, 9));
    sent.push_back(c.start_send(b, right));
    std::vector<int64_t> first(2), second(2), tagged(2);
    Transfer r1 = c.start_recv(first, left), r2 = c.start_recv(second, left);
    c.recv(tagged, left, 9);
    r2.wait();  // waited for out of order
    r1.wait();
    for (Transfer& s : sent) s.wait();
    EXPECT_EQ(first, (std::vector<int64_t>{left, 1}));
    EXPECT_EQ(second, (std::vector<int64_t>{left, 2}));
    EXPECT_EQ(tagged, (std::vector<int64_t>{left, 3}));
  });
}

// Who waits is woken by what it waits for and by nothing else: here everybody waits for something else, by turns, and
// who missed its bell would sleep for the whole time limit, which is longer than this test may take.
TEST(Comm, NobodySleepsThroughItsNews) {
  const auto begun = std::chrono::steady_clock::now();
  every_world([](Communicator& c) {
    const int p = c.size();
    const auto halves = c.split(c.rank() % 2);
    Rng rng(3, static_cast<uint64_t>(c.rank()));
    int64_t expected = 0, got = 0;
    for (int64_t round = 0; round < 300; ++round) {
      if (rng.below(8) == 0) usleep(static_cast<useconds_t>(rng.below(200)));  // now one, now another is late
      // To one that is further on by `step`, from one that is as far behind; every fourth round the receipt is
      // awaited first.
      const int step = 1 + static_cast<int>(round % std::max(1, p - 1)), to = (c.rank() + step) % p,
                from = (c.rank() + p * step - step) % p;
      const int64_t mine = 1000 * c.rank() + round;
      int64_t theirs = -1;
      Transfer in = c.start_recv(std::span(&theirs, 1), from, static_cast<int>(round % 3));
      Transfer sum;
      std::vector<int64_t> all(static_cast<size_t>(p));
      const bool among = round % 4 == 1;
      if (among) sum = c.start_all_gather(std::span(&mine, 1), std::vector<int64_t>(static_cast<size_t>(p), 1), all);
      c.send(std::span(&mine, 1), to, static_cast<int>(round % 3));
      if (round % 5 == 2) {
        EXPECT_EQ(halves->all_reduce(int64_t{1}), halves->size());
      }
      in.wait();
      if (among) {
        sum.wait();
        for (int r = 0; r < p; ++r) EXPECT_EQ(all[static_cast<size_t>(r)], 1000 * r + round);
      }
      expected += 1000 * from + round, got += theirs;
    }
    EXPECT_EQ(got, expected);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(50))
      << "somebody slept until the time limit";
}

TEST(Comm, RequestsOverlapInAnyOrder) {
  every_world([](Communicator& c) {  // buckets, as ZeRO sends them; odd ranks wait from the back
    constexpr int kBuckets = 6;
    constexpr int64_t kSize = 3001;
    const std::vector<int64_t> counts = even_counts(kSize, c.size());
    std::vector<std::vector<float>> in, out;
    std::vector<Transfer> requests;
    for (int b = 0; b < kBuckets; ++b) {
      in.push_back(values<float>(c.rank(), kSize));
      for (float& x : in.back()) x *= static_cast<float>(1 << b);
      out.emplace_back(static_cast<size_t>(counts[static_cast<size_t>(c.rank())]));
    }
    for (int b = 0; b < kBuckets; ++b) requests.push_back(c.start_reduce_scatter(in[b], counts, out[b]));
    if (c.rank() % 2) {
      for (int b = kBuckets - 1; b >= 0; --b) requests[static_cast<size_t>(b)].wait();
    } else {
      for (Transfer& r : requests)
        while (!r.test()) usleep(50);
    }
    const std::vector<float> all = summed<float>(c.size(), kSize);
    const int64_t at = even_range(kSize, c.size(), c.rank()).begin;
    for (int b = 0; b < kBuckets; ++b) {
      EXPECT_FALSE(requests[static_cast<size_t>(b)].pending());
      for (size_t i = 0; i < out[b].size(); ++i)
        ASSERT_EQ(out[b][i], all[static_cast<size_t>(at) + i] * static_cast<float>(1 << b));  // powers of two: exact
    }
  });
}

TEST(Comm, Split) {
  every_world([](Communicator& c) {
    const auto parity = c.split(c.rank() % 2, -c.rank());  // in reverse order
    ASSERT_NE(parity, nullptr);
    EXPECT_EQ(parity->size(), (c.size() + 1 - c.rank() % 2) / 2);
    std::vector<int64_t> members(static_cast<size_t>(parity->size()));
    const int64_t me = c.rank();
    parity->all_gather(std::span(&me, 1), members);
    for (size_t i = 1; i < members.size(); ++i) EXPECT_EQ(members[i], members[i - 1] - 2);
    EXPECT_EQ(members[static_cast<size_t>(parity->rank())], me);
    const auto first = c.split(c.rank() == 0 ? 0 : -1);
    EXPECT_EQ(first != nullptr, c.rank() == 0);
    if (first) {
      EXPECT_EQ(first->all_reduce(int64_t{5}), 5);
    }
    const auto again = parity->split(0);
    EXPECT_EQ(again->all_reduce(int64_t{1}), parity->size());
    c.barrier();
  });
}

TEST(Comm, BarrierHoldsBack) {
  THREADS_ONLY;
  std::atomic<int> arrived = 0;
  run_ranks(4, [&](Communicator& c) {
    usleep(static_cast<useconds_t>(3000 * c.rank()));
    ++arrived;
    c.barrier();
    EXPECT_EQ(arrived, 4);
  });
}

TEST(InProcess, OneRanksErrorEndsAll) {
  THREADS_ONLY;
  const auto begin = std::chrono::steady_clock::now();
  const std::string said = message_of([] {
    run_ranks(4, [](Communicator& c) {
      if (c.rank() == 2) fail("the disk is full");
      c.barrier();
    });
  });
  EXPECT_EQ(said, "rank 2: the disk is full");
  EXPECT_EQ(message_of([] {
              run_ranks(3, [](Communicator& c) {
                std::vector<float> x(3);
                if (c.rank() == 0) fail("no");
                c.recv(x, 0);
              });
            }),
            "rank 0: no");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(InProcess, WaitingForOneThatHasEndedIsTold) {
  THREADS_ONLY;
  const std::string said = message_of([] {
    run_ranks(3, [](Communicator& c) {
      if (c.rank() != 1) c.barrier();
    });
  });  // by rank 0 or rank 2, whoever sees it first
  EXPECT_NE(said.find("waits for rank 1, which has already ended"), std::string::npos) << said;
}

TEST(InProcess, WaitsAreBounded) {
  THREADS_ONLY;
  const std::string said = message_of([] {
    run_ranks(2,
              [](Communicator& c) {
                std::vector<float> x(1);
                c.recv(x, 1 - c.rank());  // both
              },
              {.timeout_s = 0.2});
  });
  EXPECT_NE(said.find("waited 0.2 s for rank(s)"), std::string::npos) << said;
}

TEST(InProcess, MismatchesAreNamed) {
  THREADS_ONLY;
  std::string said = message_of([] {
    run_ranks(2, [](Communicator& c) {
      if (c.rank() == 0) c.barrier();
      if (c.rank() == 1) c.broadcast_text("x", 1);
    });
  });
  EXPECT_NE(said.find("called"), std::string::npos) << said;
  said = message_of([] {
    run_ranks(2, [](Communicator& c) {
      std::vector<float> x(static_cast<size_t>(2 + c.rank()));
      c.broadcast(x);
    });
  });
  EXPECT_NE(said.find("expected 12 bytes from rank 0, which sent 8"), std::string::npos) << said;
  EXPECT_NE(message_of([] { run_ranks(0, [](Communicator&) {}); }).find("at least one"), std::string::npos);
}

// Every rank's bits after a chain of collectives, one line a rank.
std::string fingerprint(Communicator& c) {
  std::vector<float> x = values<float>(c.rank(), 10007);
  c.all_reduce(x);
  std::vector<float> piece(static_cast<size_t>(even_counts(10007, c.size())[static_cast<size_t>(c.rank())]));
  c.reduce_scatter(x, even_counts(10007, c.size()), piece);
  uint64_t h = 0;
  for (float f : piece) {
    uint32_t bits = 0;
    std::memcpy(&bits, &f, 4);
    h = mix64(h + bits + 0x9e3779b97f4a7c15ull);
  }
  std::string all;
  for (const std::string& s : c.all_gather_text(fmt::format("{:016x}\n", h))) all += s;
  return all;
}

TEST(Mpi, SameSuiteAndSameBitsUnderMpirun) {
  if (mpi_world) {
    const std::string bits = fingerprint(*mpi_world);
    if (mpi_world->rank() == 0)
      if (const char* file = std::getenv("QUERN_COMM_TEST_BITS")) write_file(file, bits);
    return;
  }
#ifdef QUERN_MPIRUN
  const std::string mpirun = QUERN_MPIRUN;
#else
  const std::string mpirun;
#endif
  if (!mpi_built() || mpirun.empty() || ::access(mpirun.c_str(), X_OK) != 0)
    GTEST_SKIP() << "no MPI here: the suite ran on ranks of one process only";
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("quern-comm-{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const int code = std::system(
      fmt::format("ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                  "QUERN_COMM_TEST_BITS={0}/bits '{1}' --oversubscribe -n 4 '{2}' --gtest_brief=1 >{0}/log 2>&1",
                  folder.string(), mpirun, self)
          .c_str());
  EXPECT_EQ(code, 0) << read_file(folder / "log");
  std::string here;
  std::mutex m;
  run_ranks(4, [&](Communicator& c) {
    const std::string bits = fingerprint(c);
    const std::lock_guard lock(m);
    here = bits;
  });
  if (code == 0) {
    EXPECT_EQ(read_file(folder / "bits"), here);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quern::comm

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!quern::comm::under_mpi()) return RUN_ALL_TESTS();
  int code = 0;
  quern::comm::run_mpi(
      [&](quern::comm::Communicator& c) {
        quern::comm::mpi_world = &c;
        code = RUN_ALL_TESTS();
      },
      {.timeout_s = 60});
  return code;
}
