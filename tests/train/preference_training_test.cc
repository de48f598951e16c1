// Phases that learn from pairs of answers: over every kind of base, of an adapter and of all weights, resumed bit for bit, over
// ranks, and what recipes are refused.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/train/preference/preference_data.h"
#include "quern/train/preference/preference_source.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

// Behind a number the chosen answer counts up, the rejected one down.
void write_pairs(const fs::path& prefix, int64_t pairs, uint64_t seed) {
  data::IndexedWriter tokens(prefix, data::TokenType::u16),
      mask(data::with_suffix(prefix, ".mask"), data::TokenType::u8);
  Rng rng(seed);
  for (int64_t p = 0; p < pairs; ++p) {
    const auto first = static_cast<int32_t>(rng.below(50));
    for (int32_t step : {1, -1}) {
      std::vector<int32_t> ids, learned;
      const auto n = 4 + static_cast<int32_t>(rng.below(5));
      for (int32_t i = 0; i < n; ++i) ids.push_back(3 + (first + i * step + 50) % 50), learned.push_back(i > 0);
      tokens.add(ids), mask.add(learned);
    }
  }
  mask.finish(), tokens.finish();
  std::ofstream(prefix.string() + ".json") << R"({"tokens": 100, "bytes": 250, "pairs": true})";
}

class PreferenceTraining : public testing::TestWithParam<const char*> {
 protected:
  PreferenceTraining() { write_pairs(made_.path / "pairs", 60, 1), write_pairs(made_.path / "held-pairs", 12, 2); }
  train::Recipe recipe(std::vector<std::string> set = {}) {
    set.insert(set.begin(), {"model.fresh=false", "phase.0.preference.loss=dpo", "phase.0.data=[{path = \"pairs\"}]",
                             "phase.0.micro_batch_size=3", "phase.0.batch_size=6", "phase.0.schedule.peak=5e-3",
                             "eval.data=[{path = \"held-pairs\"}]", "eval.sequences=12"});
    return train::read_recipe(tiny::write_recipe(made_.path, GetParam()), set);
  }
  train::Recipe adapter(std::vector<std::string> set = {}) {
    set.insert(set.begin(), {"adapter.rank=4", "phase.0.schedule.peak=0.02"});
    return recipe(set);
  }
  train::RunMetrics run(const train::Recipe& r, const std::string& name, int64_t stop_after = 0, bool resume = false,
                        int ranks = 1) {
    const fs::path out = made_.path / name;
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      train::Trainer t(r, nn::builtin_registry(), c, train::with_preferences({.out = out, .resume = resume}));
      while ((stop_after == 0 || t.finished() < stop_after) && t.step()) {
      }
      if (t.finished() == t.steps()) t.export_model(out / "model", DType::f32);
    });
    return train::read_metrics(out / "metrics.jsonl");
  }
  std::string weights(const std::string& name) const {
    const fs::path model = made_.path / name / "model";
    const fs::path adapter = model / "adapter_model.safetensors";
    return read_file(fs::exists(adapter) ? adapter : model / "model.safetensors");
  }
  tiny::Folder made_{"preference_training"};
};

TEST_P(PreferenceTraining, PrefersTheChosenAnswersOverEveryBase) {
  for (const char* base : {"f32", "bf16", "q8", "q4"})
    for (const char* loss : {"dpo", "ipo"}) {
      if (std::string_view(loss) == "ipo" && std::string_view(base) != "f32") continue;
      const std::string name = fmt::format("{}-{}", base, loss);
      const train::RunMetrics m = run(adapter({fmt::format("adapter.base={}", base), "phase.0.steps=40",
                                               fmt::format("phase.0.preference.loss={}", loss)}),
                                      name);
      ASSERT_EQ(m.steps.size(), 40u);
      // Before the first step the model is the reference.
      EXPECT_NEAR(m.steps[0].loss, std::string_view(loss) == "dpo" ? std::log(2.0) : 25.0, 1e-3) << name;
      EXPECT_NEAR(m.steps[0].margin.value(), 0, 1e-3) << name;
      EXPECT_GE(m.evals.back().eval_accuracy.value(), 0.8) << name;
      EXPECT_GT(m.evals.back().eval_margin.value(), 0.05) << name;
      EXPECT_LT(m.evals.back().eval_loss, m.steps[0].loss) << name;
      EXPECT_FALSE(m.steps[0].bpb.has_value());
    }
}

TEST_P(PreferenceTraining, ResumedEqualsUninterruptedBitForBit) {
  for (const bool lora : {true, false}) {
    const train::Recipe r =
        lora ? adapter({"adapter.dropout=0.2", "phase.0.preference.label_smoothing=0.1"}) : recipe();
    const std::string one = lora ? "whole" : "whole-model", two = lora ? "parts" : "parts-model";
    const train::RunMetrics whole = run(r, one);
    run(r, two, 7);  // a checkpoint lies at 5: steps 6 and 7 are done again
    const train::RunMetrics parts = run(r, two, 0, true);
    EXPECT_EQ(weights(one), weights(two));
    for (size_t i = 0; i < whole.steps.size(); ++i) {
      EXPECT_EQ(whole.steps[i].loss, parts.steps[i].loss) << i;
      EXPECT_EQ(whole.steps[i].margin, parts.steps[i].margin) << i;
    }
    const std::string cut = lora ? "cut" : "cut-model";
    run(r, cut, 7);
    fs::remove(made_.path / cut / "reference-0.safetensors");
    EXPECT_NE(message_of([&] { run(r, cut, 0, true); }).find("reference's log-probabilities are missing"),
              std::string::npos);
  }
}

TEST_P(PreferenceTraining, RanksAndRecomputingChangeRoundingAlone) {
  const std::string slow = "phase.0.schedule.peak=2e-3";
  const train::RunMetrics one = run(adapter({slow}), "one");
  auto close = [&](const train::RunMetrics& other, const char* what) {
    ASSERT_EQ(other.steps.size(), one.steps.size());
    for (size_t i = 0; i < one.steps.size(); ++i)
      EXPECT_NEAR(other.steps[i].loss, one.steps[i].loss, 2e-4) << what << ", step " << i + 1;
    EXPECT_NEAR(other.evals.back().eval_loss, one.evals.back().eval_loss, 2e-4) << what;
  };
  close(run(adapter({slow}), "ranks", 0, false, 2), "ranks");
  close(run(adapter({slow, "parallel.zero=1"}), "shards", 0, false, 2), "ZeRO");
  close(run(adapter({slow, "activation_checkpointing=true"}), "recomputed"), "recomputed layers");
}

// Supervised first and preferences then: the reference is what the first phase made, or the frozen model.
TEST_P(PreferenceTraining, AsASecondPhase) {
  const std::string two =
      "phase=[{steps = 20, sequence_length = 48, batch_size = 4, schedule = {peak = 0.02}, data = [{path = "
      "\"set\"}]},"
      "{steps = 4, sequence_length = 48, batch_size = 6, schedule = {peak = 1e-3}, data = [{path = \"pairs\"}],"
      "preference = {loss = \"dpo\", reference = \"REF\"}}]";
  for (const char* reference : {"start", "base"}) {
    std::string phases = two;
    phases.replace(phases.find("REF"), 3, reference);
    const train::Recipe r =
        train::read_recipe(tiny::write_recipe(made_.path, GetParam()),
                           std::vector<std::string>{"model.fresh=false", "adapter.rank=4",
                                                    "eval.data=[{path = \"held-pairs\"}]", phases});
    const train::RunMetrics m = run(r, reference);
    ASSERT_EQ(m.steps.size(), 24u);
    EXPECT_FALSE(m.steps[19].margin.has_value());
    if (std::string_view(reference) == "start")
      EXPECT_NEAR(m.steps[20].margin.value(), 0, 1e-3);
    else
      EXPECT_GT(std::abs(m.steps[20].margin.value()), 1e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(All, PreferenceTraining, testing::Values("llama-gqa", "zaya-2-4x2", "zamba2-2block"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

TEST(PreferenceRecipes, RefusedByField) {
  const tiny::Folder made("preference_recipes");
  auto refused = [&](std::vector<std::string> set, const char* word) {
    set.insert(set.begin(), "phase.0.preference.loss=dpo");
    const std::string message =
        message_of([&] { train::read_recipe(tiny::write_recipe(made.path, "llama-gqa"), set); });
    EXPECT_NE(message.find(word), std::string::npos) << message << " has no " << word;
  };
  refused({"phase.0.data=[{path = \"set\"}]", "phase.0.preference.loss=kto"}, "expected dpo, ipo or robust");
  refused({"phase.0.data=[{path = \"set\"}]", "phase.0.preference.reference=base"}, "needs an adapter");
  refused({"phase.0.data=[{path = \"set\"}]", "parallel.context=2"}, "parallel.context");
  refused({}, "weight");
  EXPECT_NE(message_of([&] { train::PreferenceData(made.path / "set"); }).find("no pairs of answers"),
            std::string::npos);
}

}  // namespace
}  // namespace quern
