// The parts of a training step by themselves: how ranks are divided, what a source hands to each of them, and a
// trainer with another source and another objective.
#include <gtest/gtest.h>

#include <map>
#include <mutex>

#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/models/checkpoint.h"
#include "quern/nn/ops.h"
#include "quern/train/trainer/trainer.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class StepParts : public testing::Test {
 protected:
  train::Recipe recipe(const std::vector<std::string>& set = {}, const char* golden = "zaya-2-4x2") {
    return train::read_recipe(tiny::write_recipe(folder_.path, golden), set);
  }
  // What every rank is handed, draw by draw.
  std::map<int, std::vector<train::StepBatches>> drawn(const train::Recipe& r, int ranks, int draws,
                                                       int64_t from = 0) {
    std::map<int, std::vector<train::StepBatches>> out;
    std::mutex lock;
    comm::run_ranks(ranks, [&](comm::Communicator& c) {
      const train::RankGroups groups(c, r.parallel);
      const auto model =
          models::build_model(nn::builtin_registry(), Json::read(r.base / r.model.from / "config.json"));
      const auto source = train::recipe_source({r, 0, groups, *model});
      source->seek(from);
      std::vector<train::StepBatches> mine;
      for (int i = 0; i < draws; ++i) mine.push_back(source->next(r.phase[0].batch_size));
      EXPECT_EQ(source->consumed(), from + draws * r.phase[0].batch_size);
      const std::lock_guard held(lock);
      out[c.rank()] = std::move(mine);
    });
    return out;
  }
  static std::vector<int32_t> tokens(const train::StepBatches& b) {
    std::vector<int32_t> all;
    for (const train::MicroBatch& m : b.micro) all.insert(all.end(), m.tokens.begin(), m.tokens.end());
    return all;
  }

  tiny::Folder folder_{"step_parts"};
};

TEST_F(StepParts, RanksAreDivided) {
  comm::run_ranks(4, [](comm::Communicator& c) {
    const train::RankGroups plain(c, {});
    EXPECT_FALSE(plain.context || plain.experts);
    EXPECT_EQ(plain.groups, 4);
    EXPECT_EQ(plain.group, c.rank());
    const train::RankGroups pairs(c, {.context = 2, .experts = 4});
    EXPECT_EQ(pairs.context->size(), 2);
    EXPECT_EQ(pairs.context->rank(), c.rank() % 2);
    EXPECT_EQ(pairs.experts->size(), 4);
    EXPECT_EQ(pairs.groups, 2);
    EXPECT_EQ(pairs.group, c.rank() / 2);
    EXPECT_NE(message_of([&] { train::RankGroups(c, {.context = 3}); }).find("parallel.context = 3: 4 ranks"),
              std::string::npos);
  });
}

TEST_F(StepParts, RanksTogetherGetWhatOneGets) {
  const train::Recipe r = recipe({"phase.0.batch_size=6"});
  const auto one = drawn(r, 1, 3);
  for (int ranks : {2, 4}) {
    const auto shared = drawn(r, ranks, 3);
    for (size_t draw = 0; draw < 3; ++draw) {
      std::vector<int32_t> all;
      int64_t fed = 0, weight = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const train::StepBatches& b = shared.at(rank)[draw];
        const std::vector<int32_t> mine = tokens(b);
        all.insert(all.end(), mine.begin(), mine.end());
        fed += b.tokens, weight += b.weight();
      }
      EXPECT_EQ(all, tokens(one.at(0)[draw])) << ranks << " ranks, draw " << draw;
      EXPECT_EQ(fed, one.at(0)[draw].tokens);
      EXPECT_EQ(weight, one.at(0)[draw].weight());
    }
  }
}

TEST_F(StepParts, MicroBatchesAreThoseRowsCutUp) {
  const auto whole = drawn(recipe({"phase.0.batch_size=5"}), 1, 1),
             cut = drawn(recipe({"phase.0.batch_size=5", "phase.0.micro_batch_size=2"}), 1, 1);
  const train::StepBatches &a = whole.at(0)[0], &b = cut.at(0)[0];
  EXPECT_EQ(a.micro.size(), 1u);
  EXPECT_EQ(b.micro.size(), 3u);
  EXPECT_EQ(tokens(a), tokens(b));
  EXPECT_EQ(a.weight(), b.weight());
}

TEST_F(StepParts, ASourceGoesOnWhereItIsPut) {
  const train::Recipe r = recipe();
  const auto begun = drawn(r, 1, 3), later = drawn(r, 1, 1, 2 * r.phase[0].batch_size);
  EXPECT_EQ(tokens(begun.at(0)[2]), tokens(later.at(0)[0]));
  EXPECT_NE(tokens(begun.at(0)[1]), tokens(later.at(0)[0]));
}

TEST_F(StepParts, TokensOfAnotherVocabularyAreRefused) {
  const train::Recipe r = recipe();
  const auto model = models::build_model(nn::builtin_registry(), Json::read(r.base / r.model.from / "config.json"));
  data::TokenBatch b;
  b.tokens = {1, static_cast<int32_t>(model->vocab_size())};
  EXPECT_NE(message_of([&] { train::check_tokens(b, *model, "phase 'x'"); }).find("phase 'x': the data holds token"),
            std::string::npos);
}

// The same few rows at every step.
class OneBatch : public train::BatchSource {
 public:
  train::StepBatches next(int64_t rows) override {
    consumed_ += rows;
    data::TokenBatch b;
    for (int32_t t = 0; t < 24; ++t) b.tokens.push_back(3 + t % 8), b.targets.push_back(3 + (t + 1) % 8);
    b.lengths = {24}, b.rows = 1, b.loss_tokens = 24;
    train::StepBatches out{.micro = {}, .tokens = 24};
    out.micro.push_back(train::micro_batch(b, nullptr, mixers::ContextParallelKind::gather));
    return out;
  }
  int64_t consumed() const override { return consumed_; }
  void seek(int64_t consumed) override { consumed_ = consumed; }
  std::string describe() const override { return "one batch\n"; }

 private:
  int64_t consumed_ = 0;
};

TEST_F(StepParts, SourceAndObjectiveCanBeReplaced) {
  const train::Recipe r = recipe({"phase.0.steps=30", "phase.0.schedule.peak=0.02"}, "llama-gqa");
  std::vector<train::StepMetrics> plain, doubled;
  const auto run = [&](const char* name, const train::Objective& objective, std::vector<train::StepMetrics>& steps) {
    comm::run_ranks(1, [&](comm::Communicator& c) {
      train::TrainOptions o{.out = folder_.path / name};
      o.source = [](const train::SourceRequest&) { return std::make_unique<OneBatch>(); };
      o.objective = objective;
      train::Trainer t(r, nn::builtin_registry(), c, o);
      EXPECT_NE(t.describe().find("one batch"), std::string::npos);
      while (t.step()) steps.push_back(t.last());
    });
  };
  run("plain", train::next_token_loss, plain);
  run(
      "doubled",
      [](grad::Tape& tape, models::Model& model, const train::MicroBatch& b) {
        return nn::scale(tape, train::next_token_loss(tape, model, b), 2);
      },
      doubled);
  ASSERT_EQ(plain.size(), 30u);
  EXPECT_LT(plain.back().loss, plain.front().loss / 4) << "one batch is learned by heart";
  EXPECT_EQ(plain.back().tokens, 30 * 24);
  EXPECT_NEAR(doubled.front().loss, 2 * plain.front().loss, 1e-5);
  EXPECT_NEAR(doubled.front().grad_norm, 2 * plain.front().grad_norm, 1e-4 * plain.front().grad_norm);
}

TEST_F(StepParts, ModelsSayWhatTheirExpertsDo) {
  const train::Recipe r = recipe();
  const auto zaya = models::build_model(nn::builtin_registry(), Json::read(r.base / r.model.from / "config.json"));
  nn::initialize(*zaya, 1);
  EXPECT_TRUE(zaya->expert_loads().empty()) << "nothing was routed yet";
  grad::Tape tape(grad::Tape::training);
  const std::vector<int32_t> ids = {3, 4, 5, 6, 7, 8}, targets = {4, 5, 6, 7, 8, 9};
  tape.backward(zaya->loss(tape, zaya->hidden(tape, ids, mixers::Batch::single(6)), targets));
  const auto loads = zaya->expert_loads();
  ASSERT_EQ(loads.size(), 2u);
  for (std::span<const float> load : loads) {
    EXPECT_EQ(load.size(), 4u);
    double sum = 0;
    for (float n : load) sum += n;
    EXPECT_LE(sum, 6);  // what skips the experts is not counted
  }
  EXPECT_TRUE(zaya->share_experts(nullptr));
  const train::Recipe plain = recipe({}, "llama-gqa");
  const auto llama =
      models::build_model(nn::builtin_registry(), Json::read(plain.base / plain.model.from / "config.json"));
  EXPECT_FALSE(llama->share_experts(nullptr));
  EXPECT_TRUE(llama->expert_loads().empty());
}

}  // namespace
}  // namespace quern
