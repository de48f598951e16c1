// On threads of this process, and, started again under mpirun on this machine, on MPI processes.
#include "quern/measure/collectives.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"

namespace quern::measure {
namespace {

comm::Communicator* mpi_world = nullptr;

void every_world(const std::function<void(comm::Communicator&)>& fn) {
  if (mpi_world) return fn(*mpi_world);
  for (const int n : {2, 4}) comm::run_ranks(n, fn, {.timeout_s = 60});
}

TEST(Collectives, EverySizeIsTimedAndFitted) {
  every_world([](comm::Communicator& c) {
    for (const Collective what : kCollectives) {
      const CollectiveCurve curve = time_collective(c, what, {.max_bytes = 1 << 20, .reps = 3, .seconds = 1e-3});
      ASSERT_EQ(curve.times.size(), 18u);
      for (const TransferTime& t : curve.times) {
        EXPECT_GT(t.seconds, 0);
        EXPECT_LT(t.seconds, 5);
      }
      EXPECT_EQ(curve.times.front().bytes, 8);
      EXPECT_EQ(curve.times.back().bytes, 1 << 20);
      EXPECT_GT(curve.fit.link.latency_s, 0) << collective_name(what);
      EXPECT_GT(curve.bus_gbs(), 0.01) << collective_name(what);
      EXPECT_GT(curve.saturated_from(), 8) << collective_name(what);
      const double seconds = c.all_reduce(curve.times[5].seconds, comm::ReduceOp::max);
      EXPECT_EQ(seconds, curve.times[5].seconds) << "ranks disagree";
    }
  });
}

// Ranks as if on hosts of two.
TEST(Collectives, TwoLevelsAreTimed) {
  every_world([](comm::Communicator& c) {
    if (c.size() % 2) return;
    std::vector<int> node_of;
    for (int r = 0; r < c.size(); ++r) node_of.push_back(r / 2);
    for (const Collective what : kTwoLevelCollectives) {
      const CollectiveCurve curve =
          time_collective(c, what, {.max_bytes = 1 << 16, .reps = 2, .seconds = 1e-3, .node_of = node_of});
      ASSERT_EQ(curve.times.size(), 14u);
      for (const TransferTime& t : curve.times) EXPECT_GT(t.seconds, 0);
      EXPECT_EQ(parse_collective(collective_name(what)), what);
    }
  });
}

TEST(Collectives, TwoLevelsPayFromWhereTheyAreNeverSlower) {
  CollectiveCurve one, two;
  one.times = {{8, 1}, {16, 2}, {32, 3}, {64, 6}};
  two.times = {{8, 1}, {16, 3}, {32, 3}, {64, 4}};
  EXPECT_EQ(two_levels_from(one, two), 32);
  EXPECT_EQ(two_levels_from(two, one), 0);
  EXPECT_EQ(two_levels_from(one, one), 8);
}

TEST(Collectives, OverlapIsTimedForWhatCanBeStarted) {
  every_world([](comm::Communicator& c) {
    for (const Collective what : {Collective::reduce_scatter, Collective::all_gather, Collective::all_to_all}) {
      const Overlap o = measure_overlap(c, what, 1 << 20, 5);
      EXPECT_EQ(o.bytes, 1 << 20);
      EXPECT_GT(o.transfer_s, 0);
      EXPECT_GT(o.compute_s, 0);
      EXPECT_GT(o.both_s, 0);  // how long is the business of a machine that others use
    }
  });
}

TEST(Collectives, OverlapIsTheTimeOfBothAgainstTheLonger) {
  Overlap o{.transfer_s = 2, .compute_s = 3, .both_s = 3};
  EXPECT_DOUBLE_EQ(o.ratio(), 1);
  EXPECT_DOUBLE_EQ(o.hidden(), 1);
  o.both_s = 4;
  EXPECT_DOUBLE_EQ(o.hidden(), 0.5);
  o.both_s = 6;
  EXPECT_DOUBLE_EQ(o.ratio(), 2);
  EXPECT_DOUBLE_EQ(o.hidden(), 0);
}

TEST(Collectives, OneRankHasNothingToMeasure) {
  if (mpi_world) GTEST_SKIP() << "for ranks of one process";
  const auto alone = comm::single_rank();
  EXPECT_TRUE(time_collective(*alone, Collective::all_reduce, {}).times.empty());
}

TEST(Collectives, ShareOfTheBus) {
  EXPECT_DOUBLE_EQ(bus_share(Collective::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_share(Collective::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_share(Collective::message, 4), 1);
  CollectiveCurve curve{.what = Collective::all_reduce, .ranks = 2};
  curve.times = {{1e3, 2e-6}, {1e6, 1.01e-3}, {1e9, 1}};
  EXPECT_DOUBLE_EQ(curve.bus_gbs(curve.times[2]), 1);
  EXPECT_EQ(curve.saturated_from(), 1e6);
  EXPECT_EQ(parse_collective("all-to-all"), Collective::all_to_all);
  EXPECT_THROW(parse_collective("gather"), Error);
}

TEST(Collectives, TimesThatDoNotGrowGiveALowerBoundOfTheBandwidth) {
  CollectiveCurve curve{.what = Collective::message, .ranks = 2};
  curve.times = {{8, 1e-3}, {1024, 1e-3}, {1 << 20, 1e-3}};
  curve.fit_to_times();
  EXPECT_FALSE(curve.bandwidth_seen);
  EXPECT_DOUBLE_EQ(curve.bus_gbs(), (1 << 20) / 1e-3 * 1e-9);
  curve.times = {{8, 1e-3}, {1 << 20, 2e-3}, {1 << 21, 3e-3}};
  curve.fit_to_times();
  EXPECT_TRUE(curve.bandwidth_seen);
  EXPECT_NEAR(curve.bus_gbs(), 1.048576, 0.01);
}

TEST(Collectives, UnderMpirun) {
  if (mpi_world) return;
#ifdef QUERN_MPIRUN
  const std::string mpirun = QUERN_MPIRUN;
#else
  const std::string mpirun;
#endif
  if (!comm::mpi_built() || mpirun.empty() || ::access(mpirun.c_str(), X_OK) != 0)
    GTEST_SKIP() << "no MPI here: measured on ranks of one process only";
  const std::string self = std::filesystem::read_symlink("/proc/self/exe"),
                    log = std::filesystem::temp_directory_path() / fmt::format("quern-collectives-{}", ::getpid());
  for (const int n : {2, 4}) {
    const int code = std::system(
        fmt::format("ASAN_OPTIONS=detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
                    "'{}' --oversubscribe --host 127.0.0.1:{} -n {} '{}' --gtest_brief=1 "
                    "'--gtest_filter=Collectives.*' >{} 2>&1",
                    mpirun, n, n, self, log)
            .c_str());
    EXPECT_EQ(code, 0) << read_file(log);
  }
  std::filesystem::remove(log);
}

}  // namespace
}  // namespace quern::measure

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (!quern::comm::under_mpi()) return RUN_ALL_TESTS();
  int code = 0;
  quern::comm::run_mpi(
      [&](quern::comm::Communicator& c) {
        quern::measure::mpi_world = &c;
        code = RUN_ALL_TESTS();
      },
      {.timeout_s = 60});
  return code;
}
