// Phases that learn from a larger model: nothing to learn from oneself, a teacher's knowledge reaches a student, resumed bit
// for bit, over ranks, and what recipes are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/train/distill/distill_source.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class DistillTraining : public testing::TestWithParam<const char*> {
 protected:
  train::Recipe recipe(std::vector<std::string> set) {
    return train::read_recipe(tiny::write_recipe(made_.path, GetParam()), set);
  }
  train::RunMetrics run(const train::Recipe& r, const std::string& name, int64_t stop_after = 0, bool resume = false,
                        int ranks = 1) {
    const fs::path out = made_.path / name;
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      train::Trainer t(r, nn::builtin_registry(), c,
                       train::with_distillation({.out = out, .resume = resume}, nn::builtin_registry()));
      while ((stop_after == 0 || t.finished() < stop_after) && t.step()) {
      }
      if (t.finished() == t.steps()) t.export_model(out / "model", DType::f32);
    });
    return train::read_metrics(out / "metrics.jsonl");
  }
  std::string teacher() {  // learns the data, and lies in a folder
    run(recipe({"phase.0.steps=60"}), "teacher");
    return (made_.path / "teacher" / "model").string();
  }
  tiny::Folder made_{"distill_training"};
};

TEST_P(DistillTraining, ThereIsNothingToLearnFromOneself) {
  const std::string self = std::string(QUERN_SOURCE_DIR) + "/tests/goldens/" + GetParam();
  for (const char* direction : {"forward", "reverse"}) {
    const train::RunMetrics m =
        run(recipe({"model.fresh=false", "phase.0.steps=1", "phase.0.distill.teacher=" + self,
                    "phase.0.distill.format=f32", fmt::format("phase.0.distill.direction={}", direction)}),
            direction);
    EXPECT_NEAR(m.steps.at(0).loss, 0, 1e-5) << direction;
    EXPECT_FALSE(m.steps[0].bpb.has_value());
  }
}

TEST_P(DistillTraining, AStudentLearnsWhatTheTeacherKnows) {
  const std::string from = teacher();
  const std::vector<std::string> set = {"seed=9", "phase.0.steps=40", "phase.0.distill.teacher=" + from};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), set.begin(), set.end());
    return more;
  };
  const double untaught = train::read_metrics(made_.path / "teacher" / "metrics.jsonl").evals.front().eval_loss;
  int n = 0;
  for (const std::vector<std::string>& more : std::vector<std::vector<std::string>>{
           {},
           {"phase.0.distill.format=q8", "phase.0.distill.weight=0.5", "phase.0.distill.temperature=2"},
           {"phase.0.distill.direction=reverse", "phase.0.distill.top=8"}}) {
    const train::RunMetrics m = run(recipe(with(more)), fmt::format("student{}", n++));
    EXPECT_LT(m.steps.back().loss, 0.85 * m.steps.front().loss) << n;
    EXPECT_LT(m.evals.back().eval_loss, untaught) << n;  // cross entropy of data that were only told by the teacher
  }
}

TEST_P(DistillTraining, ResumedAndOverRanks) {
  const std::string from = teacher();
  const train::Recipe r = recipe({"seed=9", "phase.0.distill.teacher=" + from, "phase.0.distill.weight=0.7"});
  const train::RunMetrics whole = run(r, "whole");
  run(r, "parts", 7);  // a checkpoint lies at 5
  run(r, "parts", 0, true);
  EXPECT_EQ(read_file(made_.path / "whole/model/model.safetensors"),
            read_file(made_.path / "parts/model/model.safetensors"));
  const train::RunMetrics two = run(r, "two", 0, false, 2);
  ASSERT_EQ(two.steps.size(), whole.steps.size());
  for (size_t i = 0; i < two.steps.size(); ++i) EXPECT_NEAR(two.steps[i].loss, whole.steps[i].loss, 2e-3) << i;
}

// From files as from the teacher itself, to the step of the store; bit for bit where it was resumed; and without the teacher.
TEST_P(DistillTraining, FromStoredLogits) {
  const std::string from = teacher();
  for (const char* direction : {"forward", "reverse"}) {
    const std::vector<std::string> set = {"seed=9",
                                          "phase.0.distill.teacher=" + from,
                                          "phase.0.distill.top=8",
                                          "phase.0.distill.temperature=2",
                                          "phase.0.distill.weight=0.7",
                                          fmt::format("phase.0.distill.direction={}", direction)};
    const train::RunMetrics live = run(recipe(set), fmt::format("live-{}", direction));
    std::vector<std::string> with = set;
    with.push_back(fmt::format("phase.0.distill.store={}", (made_.path / "store").string()));
    const train::Recipe r = recipe(with);
    const train::TeacherStoreReport first = train::store_teacher(r, nn::builtin_registry());
    EXPECT_EQ(first.documents > 0, direction == std::string("forward")) << "both directions read the same";
    EXPECT_EQ(train::store_teacher(r, nn::builtin_registry()).documents, 0);
    if (direction == std::string("reverse")) fs::rename(from, from + "-elsewhere");
    const std::string whole = fmt::format("stored-{}", direction), parts = whole + "-parts";
    const train::RunMetrics stored = run(r, whole);
    ASSERT_EQ(stored.steps.size(), live.steps.size());
    for (size_t i = 0; i < live.steps.size(); ++i)
      EXPECT_NEAR(stored.steps[i].loss, live.steps[i].loss, 5e-3 * std::abs(live.steps[i].loss)) << direction << i;
    EXPECT_NEAR(stored.evals.back().eval_loss, live.evals.back().eval_loss, 5e-3 * live.evals.back().eval_loss);
    run(r, parts, 7);
    run(r, parts, 0, true);
    EXPECT_EQ(read_file(made_.path / whole / "model/model.safetensors"),
              read_file(made_.path / parts / "model/model.safetensors"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, DistillTraining, testing::Values("llama-gqa", "zaya-2-4x2", "zamba2-2block"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

TEST(DistillRecipes, RefusedByField) {
  const tiny::Folder made("distill_recipes");
  auto refused = [&](std::vector<std::string> set, const char* word) {
    set.insert(set.begin(), "phase.0.distill.teacher=big");
    const std::string message =
        message_of([&] { train::read_recipe(tiny::write_recipe(made.path, "llama-gqa"), set); });
    EXPECT_NE(message.find(word), std::string::npos) << message << " has no " << word;
  };
  refused({"phase.0.distill.direction=up"}, "expected forward or reverse");
  refused({"phase.0.preference.loss=dpo"}, "not with rl or preference");
  refused({"parallel.context=2"}, "parallel.context");
  const auto begin = [&](const char* teacher) {
    const std::vector<std::string> set = {fmt::format("phase.0.distill.teacher={}", teacher)};
    const train::Recipe r = train::read_recipe(tiny::write_recipe(made.path, "llama-gqa"), set);
    return message_of([&] {
      const auto alone = comm::single_rank();
      train::Trainer(r, nn::builtin_registry(), *alone,
                     train::with_distillation({.out = made.path / "run"}, nn::builtin_registry()));
    });
  };
  EXPECT_NE(begin("nowhere").find("nowhere"), std::string::npos);
  refused({"phase.0.distill.store=logits"}, "distill.top: 0 compares every token");
}

TEST(DistillRecipes, AStoreThatDoesNotFitIsRefused) {
  const tiny::Folder made("distill_store");
  const std::string self = std::string(QUERN_SOURCE_DIR) + "/tests/goldens/llama-gqa",
                    store = (made.path / "store").string();
  const auto recipe = [&](std::vector<std::string> set) {
    set.insert(set.begin(), {"phase.0.steps=2", "phase.0.distill.teacher=" + self, "phase.0.distill.top=8",
                             "phase.0.distill.store=" + store});
    return train::read_recipe(tiny::write_recipe(made.path, "llama-gqa"), set);
  };
  const auto trained = [&](std::vector<std::string> set) {
    const train::Recipe r = recipe(std::move(set));
    fs::remove_all(made.path / "run");
    return message_of([&] {
      const auto alone = comm::single_rank();
      train::Trainer t(r, nn::builtin_registry(), *alone,
                       train::with_distillation({.out = made.path / "run"}, nn::builtin_registry()));
      while (t.step()) {
      }
    });
  };
  EXPECT_NE(trained({}).find("store them first"), std::string::npos);
  EXPECT_GT(train::store_teacher(recipe({}), nn::builtin_registry()).tokens, 100);
  EXPECT_EQ(trained({}), "");
  EXPECT_NE(trained({"phase.0.distill.top=9"}).find("distill.top is 8, the recipe has 9"), std::string::npos);
  EXPECT_NE(trained({"phase.0.distill.format=q8"}).find("distill.format"), std::string::npos);
  EXPECT_NE(trained({"phase.0.distill.teacher=" + std::string(QUERN_SOURCE_DIR) + "/tests/goldens/zaya-2-4x2"})
                .find("of another teacher"),
            std::string::npos);
  EXPECT_NE(trained({"phase.0.steps=12"}).find("fewer steps"), std::string::npos);
  const std::string longer = trained({"phase.0.length=56"});
  EXPECT_NE(longer.find("sequence_length"), std::string::npos) << longer;
  tiny::write_shards(made.path / "set", 41);
  EXPECT_NE(trained({}).find("other data"), std::string::npos);
  EXPECT_NE(message_of([&] {
              train::store_teacher(train::read_recipe(tiny::write_recipe(made.path, "llama-gqa")),
                                   nn::builtin_registry());
            }).find("no phase with distill.store"),
            std::string::npos);
}

}  // namespace
}  // namespace quern
