// Experts over ranks (parallel.experts): whole runs learn what one rank learns, alone and together with the other
// plans, under threads and under MPI; checkpoints know nothing of it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "quern/comm/in_process.h"
#include "quern/comm/mpi.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/trainer/trainer.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class ExpertPlans : public testing::Test {
 protected:
  train::Recipe recipe(const std::vector<std::string>& set, const char* golden = "zaya-2-4x2") {
    return train::read_recipe(tiny::write_recipe(folder_.path, golden), set);
  }
  fs::path out(const std::string& name) const { return folder_.path / name; }
  std::vector<train::StepMetrics> run(const train::Recipe& r, const std::string& name, int ranks, int64_t stop = 0,
                                      bool resume = false) {
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      train::Trainer t(r, nn::builtin_registry(), c, {.out = out(name), .resume = resume});
      while ((stop == 0 || t.finished() < stop) && t.step()) {
      }
      if (stop > 0) t.checkpoint();
    });
    return train::read_metrics(out(name) / "metrics.jsonl").steps;
  }
  static void expect_alike(const std::vector<train::StepMetrics>& a, const std::vector<train::StepMetrics>& one,
                           const std::string& what) {
    ASSERT_EQ(a.size(), one.size()) << what;
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_NEAR(a[i].loss, one[i].loss, 1e-5) << what << ", step " << i + 1;
      EXPECT_NEAR(a[i].grad_norm, one[i].grad_norm, 1e-4 * one[i].grad_norm) << what << ", step " << i + 1;
      EXPECT_EQ(a[i].tokens, one[i].tokens) << what;
      ASSERT_TRUE(a[i].balance && one[i].balance) << what;
      EXPECT_NEAR(*a[i].balance, *one[i].balance, 1e-9) << what << ": a token was counted twice or not at all";
    }
  }

  tiny::Folder folder_{"experts"};
};

TEST_F(ExpertPlans, LearnWhatOneRankLearns) {
  const auto one = run(recipe({"phase.0.rows=8"}), "one", 1);
  struct Plan {
    int ranks;
    std::vector<std::string> set;
  };
  int n = 0;
  for (const Plan& plan :
       {Plan{2, {"parallel.experts=2"}}, Plan{4, {"parallel.experts=4"}},
        Plan{4, {"parallel.experts=2", "parallel.zero=1", "parallel.bucket=3000"}},
        Plan{4, {"parallel.experts=4", "parallel.context=2", "phase.0.micro_rows=1"}},
        Plan{8, {"parallel.experts=2", "parallel.context=4", "parallel.zero=1", "parallel.bucket=3000"}},
        Plan{2, {"parallel.experts=2", "recompute=true"}}}) {
    std::vector<std::string> set = plan.set;
    set.push_back("phase.0.rows=8");
    expect_alike(run(recipe(set), fmt::format("plan{}", n++), plan.ranks), one,
                 fmt::format("{} ranks, {}", plan.ranks, fmt::join(plan.set, " ")));
  }
}

TEST_F(ExpertPlans, SavedOnFourGoesOnOnOneAndBack) {
  const train::Recipe shared = recipe({"parallel.experts=4", "checkpoint.keep=20"});
  const auto whole = run(shared, "whole", 4);
  run(shared, "moved", 4, 5);
  {
    const train::CheckpointReader saved(out("moved") / "step_5"), same(out("whole") / "step_5");
    for (const train::StoredTensor& t : saved.tensors()) {
      const Tensor a = saved.read(t.name, t.role), b = same.read(t.name, t.role);
      EXPECT_EQ(std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())), 0) << t.name;
    }
  }
  run(recipe({"checkpoint.keep=20"}), "moved", 1, 9, true);
  expect_alike(run(shared, "moved", 4, 0, true), whole, "4, 1 and 4 ranks");
}

TEST_F(ExpertPlans, UnderMpi) {
  if (!comm::mpi_built() || std::system("command -v mpirun >/dev/null 2>&1") != 0) GTEST_SKIP() << "no MPI here";
  const auto one = run(recipe({}), "one", 1);
  const std::string line = fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe -n 2 '{}' train '{}' --out "
      "'{}' --set parallel.experts=2 >'{}' 2>&1",
      tiny::binary(), (folder_.path / "recipe.toml").string(), out("mpi").string(), out("said").string());
  ASSERT_EQ(std::system(line.c_str()), 0) << line;
  expect_alike(train::read_metrics(out("mpi") / "metrics.jsonl").steps, one, "two MPI ranks");
}

TEST_F(ExpertPlans, WhatCannotBeSharedIsNamed) {
  auto complaint = [&](const train::Recipe& r, int ranks) -> std::string {
    static int n = 0;
    try {
      run(r, fmt::format("wrong{}", n++), ranks);
    } catch (const Error& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_NE(complaint(recipe({"parallel.experts=2"}), 3).find("3 ranks"), std::string::npos);
  EXPECT_NE(complaint(recipe({"parallel.experts=2", "phase.0.rows=5"}), 2).find("5 rows"), std::string::npos);
  EXPECT_NE(complaint(recipe({"parallel.experts=8", "phase.0.rows=8"}), 8).find("4 experts"), std::string::npos);
  EXPECT_NE(complaint(recipe({"parallel.experts=2"}, "llama-gqa"), 2).find("llama has no experts"),
            std::string::npos);
  EXPECT_THROW(recipe({"parallel.experts=0"}), Error);
}

}  // namespace
}  // namespace quern
