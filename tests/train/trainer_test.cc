// Whole runs on tiny models: stopped and resumed equals never stopped, ranks equal one rank, micro-batches equal one,
// phases, evaluation, going back, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "quern/comm/in_process.h"
#include "quern/data/indexed.h"
#include "quern/models/checkpoint.h"
#include "quern/train/checkpoint/format.h"
#include "quern/train/trainer/export.h"
#include "quern/train/trainer/trainer.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class Training : public testing::TestWithParam<const char*> {
 protected:
  // A run of 12 steps on the model of a golden folder, with new weights.
  train::Recipe recipe(const std::string& golden, const std::string& more = "", std::vector<std::string> set = {}) {
    return train::read_recipe(tiny::write_recipe(folder_, golden, more), set);
  }

  struct Result {
    std::vector<train::StepMetrics> steps;
    std::map<std::string, Tensor> parameters;
  };
  Result run(const train::Recipe& r, const std::string& name, int64_t stop_after = 0, bool resume = false,
             int ranks = 1) {
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      train::Trainer t(r, nn::builtin_registry(), c, {.out = folder_ / name, .resume = resume});
      while ((stop_after == 0 || t.finished() < stop_after) && t.step()) {
      }
      if (t.finished() == t.steps()) t.export_model(folder_ / name / "model", DType::f32);
    });
    Result out{train::read_metrics(folder_ / name / "metrics.jsonl").steps, {}};
    if (stop_after == 0) {
      auto model = models::load_model(nn::builtin_registry(), folder_ / name / "model", {.pack = false});
      model->visit("", [&](const std::string& p, grad::Parameter& x) { out.parameters[p] = x.value; });
    }
    return out;
  }

  static void expect_identical(const Result& a, const Result& b) {
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (size_t i = 0; i < a.steps.size(); ++i) {
      EXPECT_EQ(a.steps[i].loss, b.steps[i].loss) << "step " << a.steps[i].step;
      EXPECT_EQ(a.steps[i].grad_norm, b.steps[i].grad_norm) << "step " << a.steps[i].step;
    }
    ASSERT_EQ(a.parameters.size(), b.parameters.size());
    for (const auto& [name, x] : a.parameters) {
      const Tensor& y = b.parameters.at(name);
      ASSERT_EQ(x.shape(), y.shape());
      EXPECT_EQ(std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.bytes())), 0) << name;
    }
  }

  std::string message_of(const std::function<void()>& f) {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return "nothing was thrown";
  }

  tiny::Folder made_{"training"};
  const fs::path folder_ = made_.path;
};

TEST_P(Training, LearnsAndSaysSo) {
  train::Recipe r = recipe(GetParam(), "", {"phase.0.steps=60", "phase.0.schedule.peak=0.02"});
  Result a = run(r, "run");
  ASSERT_EQ(a.steps.size(), 60u);
  EXPECT_LT(a.steps.back().loss, a.steps.front().loss - 1);
  EXPECT_EQ(a.steps.back().tokens, [&] {
    int64_t n = 0;
    for (const train::StepMetrics& m : a.steps) n = m.tokens;
    return n;
  }());
  EXPECT_NEAR(*a.steps[3].bpb, a.steps[3].loss / std::log(2.0) / 2.5, 1e-9);
  EXPECT_GT(*a.steps[3].mfu, 0);
  train::RunMetrics m = train::read_metrics(folder_ / "run" / "metrics.jsonl");
  ASSERT_EQ(m.evals.size(), 10u);
  EXPECT_LT(m.evals.back().eval_loss, m.evals.front().eval_loss);
  EXPECT_TRUE(fs::exists(folder_ / "run" / "recipe.json"));
}

TEST_P(Training, ResumedEqualsUninterruptedBitForBit) {
  train::Recipe r = recipe(GetParam());
  Result whole = run(r, "whole");
  run(r, "parts", 7);  // a checkpoint lies at 5: steps 6 and 7 are done again
  Result parts = run(r, "parts", 0, true);
  expect_identical(whole, parts);
  Result ranks = run(r, "ranks", 0, false, 4);
  run(r, "rank_parts", 8, false, 4);
  expect_identical(ranks, run(r, "rank_parts", 0, true, 4));
}

TEST_P(Training, RanksAndMicroBatchesChangeRoundingAlone) {
  Result one = run(recipe(GetParam()), "one");
  auto close = [&](const Result& other, const char* what) {
    ASSERT_EQ(other.steps.size(), one.steps.size());
    for (size_t i = 0; i < one.steps.size(); ++i)
      EXPECT_NEAR(other.steps[i].loss, one.steps[i].loss, 1e-5) << what << ", step " << i + 1;
  };
  for (int ranks : {2, 4}) close(run(recipe(GetParam()), fmt::format("ranks{}", ranks), 0, false, ranks), "ranks");
  close(run(recipe(GetParam(), "", {"phase.0.micro_rows=1"}), "micro"), "micro-batches");
  close(run(recipe(GetParam(), "", {"phase.0.micro_rows=3"}), "uneven", 0, false, 2),
        "uneven micro-batches on 2 ranks");
  close(run(recipe(GetParam(), "", {"recompute=true"}), "recomputed"), "recomputed layers");
}

TEST_P(Training, ACheckpointIsExportedAsTheModelItIs) {
  Result a = run(recipe(GetParam()), "run");
  const train::ExportReport r =
      train::export_checkpoint(nn::builtin_registry(), folder_ / "run", folder_ / "out", {.dtype = DType::f32});
  EXPECT_EQ(r.step, 12);
  auto model = models::load_model(nn::builtin_registry(), folder_ / "out", {.dtype = DType::f32, .pack = false});
  size_t seen = 0;
  model->visit("", [&](const std::string& name, grad::Parameter& p) {
    const Tensor& want = a.parameters.at(name);
    ASSERT_EQ(p.value.shape(), want.shape()) << name;
    EXPECT_EQ(std::memcmp(p.value.raw(), want.raw(), static_cast<size_t>(want.bytes())), 0) << name;
    ++seen;
  });
  EXPECT_EQ(seen, a.parameters.size());
  EXPECT_EQ(train::export_checkpoint(nn::builtin_registry(), folder_ / "run" / "step_10", folder_ / "ten", {}).step,
            10);
  EXPECT_THROW(train::export_checkpoint(nn::builtin_registry(), folder_ / "run", folder_ / "out", {}), Error)
      << "there is one already";
  EXPECT_THROW(train::export_checkpoint(nn::builtin_registry(), folder_, folder_ / "none", {}), Error)
      << "no checkpoint there";
}

INSTANTIATE_TEST_SUITE_P(Families, Training,
                         testing::Values("llama-gqa", "zaya-2-4x2", "zamba2-1block", "granite-h-moe"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

}  // namespace

class PhasesAndFaults : public Training {};
INSTANTIATE_TEST_SUITE_P(Llama, PhasesAndFaults, testing::Values("llama-gqa"));

TEST_P(PhasesAndFaults, PhasesChangeDataLengthAndRotaryBase) {
  train::Recipe r = recipe(GetParam(), R"(
[[phase]]
name = "short"
steps = 6
length = 32
rows = 4
ramp = [{ step = 3, rows = 8 }]
schedule = { peak = 2e-3 }
data = [{ path = "set" }]
[[phase]]
name = "long"
tokens = 600
length = 100
rows = 2
config = { rope_theta = 500000.0 }
schedule = { shape = "wsd", peak = 1e-3, decay = 0.5 }
data = [{ path = "held" }]
)");
  ASSERT_EQ(r.phase.size(), 2u) << "a list replaces the base's";
  EXPECT_EQ(r.phase[1].steps, 3);
  Result whole = run(r, "whole");
  ASSERT_EQ(whole.steps.size(), 9u);
  EXPECT_EQ(whole.steps[2].tokens, 3 * 4 * 32);
  EXPECT_EQ(whole.steps[5].tokens, 3 * 4 * 32 + 3 * 8 * 32);
  EXPECT_EQ(whole.steps[6].phase, "long");
  const Json written = Json::read(folder_ / "whole" / "model" / "config.json");
  EXPECT_EQ(written.at("rope_parameters").at("rope_theta").as_double(), 500000.0) << "where the model reads it";
  run(r, "parts", 8);
  expect_identical(whole, run(r, "parts", 0, true));
}

TEST_P(PhasesAndFaults, HarderDataOfANewPhaseIsNoSpike) {
  {
    data::IndexedWriter noise(folder_ / "noise", data::TokenType::u16);
    Rng rng(8);
    for (int d = 0; d < 100; ++d) {
      std::vector<int32_t> doc(40);
      for (int32_t& t : doc) t = 3 + static_cast<int32_t>(rng.below(50));
      noise.add(doc);
    }
    noise.finish();
  }
  const std::string phases = R"(
[[phase]]
steps = 40
length = 32
rows = 4
schedule = { shape = "constant", peak = 2e-2 }
data = [{ path = "set" }]
[[phase]]
steps = 8
length = 32
rows = 4
schedule = { shape = "constant", peak = 2e-3 }
data = [{ path = "noise" }]
)";
  Result a = run(recipe(GetParam(), phases, {"spikes.window=8", "spikes.patience=2"}), "run");
  ASSERT_EQ(a.steps.size(), 48u);
  EXPECT_GT(a.steps[41].loss, a.steps[39].loss + 1) << "the second phase must be harder for this to say anything";
  for (const train::EventMetrics& e : train::read_metrics(folder_ / "run" / "metrics.jsonl").events)
    EXPECT_NE(e.event, "rollback");
}

TEST_P(PhasesAndFaults, ALossThatIsNoNumberGoesBackAndStopsInTheEnd) {
  // Step 7 and on: a learning rate that ends any model.
  std::string second = R"(
[[phase]]
steps = 5
length = 32
rows = 2
schedule = { peak = 2e-3 }
data = [{ path = "set" }]
[[phase]]
name = "hot"
steps = 7
length = 32
rows = 2
schedule = { shape = "constant", peak = 1e30 }
data = [{ path = "set" }]
)";
  train::Recipe r = recipe(GetParam(), second, {"clip=0", "spikes.most_rollbacks=2"});
  std::string why = message_of([&] { run(r, "run"); });
  EXPECT_NE(why.find("not both finite"), std::string::npos) << why;
  EXPECT_NE(why.find("3 times from step 5"), std::string::npos) << why;
  train::RunMetrics m = train::read_metrics(folder_ / "run" / "metrics.jsonl");
  int backs = 0;
  for (const train::EventMetrics& e : m.events) backs += e.event == "rollback";
  EXPECT_EQ(backs, 2);
  EXPECT_LE(m.steps.back().step, 6);
  train::Recipe none = recipe(GetParam(), second, {"clip=0", "checkpoint.every=0"});
  why = message_of([&] { run(none, "none"); });
  EXPECT_NE(why.find("no checkpoint to go back to"), std::string::npos) << why;
}

TEST_P(PhasesAndFaults, OldKeysAreTheNewOnes) {  // write_recipe's base file has the old ones
  const train::Recipe r =
      recipe(GetParam(), "eval = { sequences = 5 }\nspikes = { most_rollbacks = 7 }\n",
             {"phase.0.batch_size=2", "phase.0.length=16", "supervise.max_restarts=1", "supervise.least_ranks=2"});
  EXPECT_EQ(r.eval.sequences, 5);
  EXPECT_EQ(r.eval.sequence_length, 48);
  EXPECT_EQ(r.spikes.max_rollbacks, 7);
  EXPECT_EQ(r.phase[0].batch_size, 2);
  EXPECT_EQ(r.phase[0].sequence_length, 16);
  EXPECT_EQ(r.phase[0].data[1].packing, "pack");
  EXPECT_EQ(r.supervise.max_restarts, 1);
  EXPECT_EQ(r.supervise.min_ranks, 2);
  const Json phase = write_value(r).at("phase").as_array()[0];
  EXPECT_EQ(phase.at("batch_size").as_int(), 2);
  EXPECT_EQ(phase.find("rows"), nullptr);
  EXPECT_NE(message_of([&] {
              recipe(GetParam(), "eval = { sequences = 5, rows = 5 }\n");
            }).find("eval: 'sequences' and 'rows' are two names of one setting"),
            std::string::npos);
}

TEST_P(PhasesAndFaults, TheStartModelsTokenizerGoesAlong) {
  train::Recipe r = recipe(GetParam(), "", {"phase.0.steps=2"});
  fs::create_directories(folder_ / "start");
  fs::copy_file(fs::path(r.model.from) / "config.json", folder_ / "start" / "config.json");
  const fs::path tokenizer = fs::path(QUERN_SOURCE_DIR) / "models" / "zaya-nano" / "tokenizer.json";
  fs::copy_file(tokenizer, folder_ / "start" / "tokenizer.json");
  r.model.from = "start";
  run(r, "run");
  EXPECT_EQ(read_file(folder_ / "run" / "model" / "tokenizer.json"), read_file(tokenizer));
  EXPECT_TRUE(train::export_checkpoint(nn::builtin_registry(), folder_ / "run", folder_ / "again", {}).tokenizer);
  EXPECT_EQ(read_file(folder_ / "again" / "tokenizer.json"), read_file(tokenizer));
}

TEST_P(PhasesAndFaults, WhatIsWrongIsNamed) {
  auto says = [&](const std::string& part, const std::function<void()>& f) {
    std::string got = message_of(f);
    EXPECT_NE(got.find(part), std::string::npos) << got;
  };
  says("unknown key 'lenght'; did you mean 'length'", [&] { recipe(GetParam(), "", {"phase.0.lenght=3"}); });
  says("peak", [&] { recipe(GetParam(), "", {"phase.0.schedule.peak=-1"}); });
  says("'9' is not an index of a list of 1 entries", [&] { recipe(GetParam(), "", {"phase.9.steps=3"}); });
  says("expected bf16 or f32", [&] { recipe(GetParam(), "", {"dtype=fp8"}); });
  says("both steps and tokens", [&] { recipe(GetParam(), "", {"phase.0.tokens=100"}); });
  says("extend each other", [&] {
    std::ofstream(folder_ / "circle.toml") << "extends = \"circle.toml\"\n";
    train::read_recipe(folder_ / "circle.toml");
  });
  says("nowhere", [&] { run(recipe(GetParam(), "", {"phase.0.data=[{path = \"nowhere\"}]"}), "a"); });
  says("vocabulary ends at", [&] {
    data::IndexedWriter w(folder_ / "foreign", data::TokenType::u16);
    std::vector<int32_t> doc(200, 60000);
    w.add(doc);
    w.finish();
    run(recipe(GetParam(), "", {"phase.0.data=[{path = \"foreign\"}]"}), "b");
  });
  says("tokenizer: no tokenizer.json in ", [&] { run(recipe(GetParam(), "", {"tokenizer=absent"}), "c"); });
  EXPECT_FALSE(fs::exists(folder_ / "c")) << "refused before the run's folder is made";
  train::Recipe r = recipe(GetParam());
  run(r, "run", 5);
  says("already holds a run", [&] { run(r, "run"); });
}

}  // namespace quern
