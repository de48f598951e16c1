// [adapter] in recipes: what learns, what is kept, and that runs resume bit for bit; over several ranks, bases and
// recomputed layers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/models/checkpoint.h"
#include "quern/train/checkpoint/reader.h"
#include "quern/train/trainer/export.h"
#include "quern/train/trainer/trainer.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class AdapterTraining : public testing::TestWithParam<const char*> {
 protected:
  train::Recipe recipe(std::vector<std::string> set = {}) {
    set.insert(set.begin(), {"model.fresh=false", "adapter.rank=4", "phase.0.schedule.peak=0.02"});
    return train::read_recipe(tiny::write_recipe(made_.path, GetParam()), set);
  }
  struct Result {
    train::RunMetrics metrics;
    std::string adapter;  // the bytes of its tensors
  };
  Result run(const train::Recipe& r, const std::string& name, int64_t stop_after = 0, bool resume = false,
             int ranks = 1) {
    const fs::path out = made_.path / name;
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      train::Trainer t(r, nn::builtin_registry(), c, {.out = out, .resume = resume});
      while ((stop_after == 0 || t.finished() < stop_after) && t.step()) {
      }
      if (t.finished() == t.steps()) t.export_model(out / "model", DType::f32);
    });
    const fs::path file = out / "model" / "adapter_model.safetensors";
    return {train::read_metrics(out / "metrics.jsonl"), fs::exists(file) ? read_file(file) : ""};
  }
  tiny::Folder made_{"adapter_training"};
};

TEST_P(AdapterTraining, LearnsBesideAFrozenModel) {
  const Result r = run(recipe({"phase.0.steps=40"}), "run");
  ASSERT_GE(r.metrics.evals.size(), 2u);
  EXPECT_LT(r.metrics.evals.back().eval_loss, r.metrics.evals.front().eval_loss - 0.2);
  EXPECT_FALSE(fs::exists(made_.path / "run/model/config.json")) << "no copy of the model";

  // A checkpoint holds the adapter alone, and becomes the folder that the run wrote.
  const train::CheckpointReader newest(*train::latest_committed(made_.path / "run"));
  for (const train::StoredTensor& t : newest.tensors())
    EXPECT_TRUE(t.name.starts_with("base_model.model.model.")) << t.name;
  train::export_checkpoint(nn::builtin_registry(), made_.path / "run", made_.path / "exported", {});
  for (const char* file : {"adapter_model.safetensors", "adapter_config.json"})
    EXPECT_EQ(read_file(made_.path / "exported" / file), read_file(made_.path / "run/model" / file)) << file;
}

TEST_P(AdapterTraining, ResumedEqualsUninterruptedBitForBit) {
  const train::Recipe r = recipe({"adapter.dropout=0.2", "adapter.scaling=rslora"});
  const Result whole = run(r, "whole");
  run(r, "parts", 7);  // a checkpoint lies at 5: steps 6 and 7 are done again
  const Result parts = run(r, "parts", 0, true);
  ASSERT_FALSE(whole.adapter.empty());
  EXPECT_EQ(whole.adapter, parts.adapter);
  for (size_t i = 0; i < whole.metrics.steps.size(); ++i) {
    EXPECT_EQ(whole.metrics.steps[i].loss, parts.metrics.steps[i].loss) << i;
    EXPECT_EQ(whole.metrics.steps[i].grad_norm, parts.metrics.steps[i].grad_norm) << i;
  }
}

TEST_P(AdapterTraining, RanksShardsAndRecomputingChangeRoundingAlone) {
  const std::string slow = "phase.0.schedule.peak=2e-3";  // AdamW magnifies rounding where gradients begin at zero
  const Result one = run(recipe({slow}), "one");
  auto close = [&](const Result& other, const char* what) {
    ASSERT_EQ(other.metrics.steps.size(), one.metrics.steps.size());
    for (size_t i = 0; i < one.metrics.steps.size(); ++i)
      EXPECT_NEAR(other.metrics.steps[i].loss, one.metrics.steps[i].loss, 2e-4) << what << ", step " << i + 1;
  };
  close(run(recipe({slow}), "ranks", 0, false, 2), "ranks");
  close(run(recipe({slow, "parallel.zero=1"}), "shards", 0, false, 2), "ZeRO");
  close(run(recipe({slow, "activation_checkpointing=true"}), "recomputed"), "recomputed layers");
}

TEST_P(AdapterTraining, LearnsOverQuantizedBases) {
  for (const char* base : {"bf16", "q8", "q4"}) {
    const Result r = run(recipe({fmt::format("adapter.base={}", base), "phase.0.steps=40"}), base);
    EXPECT_LT(r.metrics.evals.back().eval_loss, r.metrics.evals.front().eval_loss - 0.2) << base;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AdapterTraining, testing::Values("llama-gqa", "zaya-2-4x2", "zamba2-2block"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

TEST(AdapterRecipes, RefusedByField) {
  const tiny::Folder made("adapter_recipes");
  auto refused = [&](std::vector<std::string> set, const char* word) {
    const std::string message =
        message_of([&] { train::read_recipe(tiny::write_recipe(made.path, "llama-gqa"), set); });
    EXPECT_NE(message.find(word), std::string::npos) << message << " has no " << word;
  };
  refused({"adapter.rank=4"}, "without model.fresh");
  refused({"model.fresh=false", "adapter.alpha=4"}, "adapter.rank");
  refused({"model.fresh=false", "adapter.rank=4", "adapter.base=q3"}, "adapter.base");
  refused({"model.fresh=false", "adapter.rank=4", "adapter.scaling=dora"}, "adapter.scaling");
  refused({"model.fresh=false", "adapter.rank=4", "model.config.rope_theta=2"}, "model.config");
  refused({"model.fresh=false", "adapter.rank=4", "phase.0.config.rope_theta=2"}, "config");
  refused({"model.fresh=false", "adapter.rnk=4"}, "rnk");
}

}  // namespace
}  // namespace quern
