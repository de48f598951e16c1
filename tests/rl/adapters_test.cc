// Adapters that learn from their own answers beside a frozen base.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/comm/in_process.h"
#include "quern/kernels/cpu/products.h"
#include "quern/models/adapter_twin.h"
#include "quern/models/checkpoint.h"
#include "quern/rl/rollout_sampler.h"
#include "quern/rl/rollout_source.h"
#include "quern/rl/scores.h"
#include "tests/rl/rl_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using tiny::equal;
using tiny::Folder;
using tiny::Outcome;
using tiny::recipe;
using tiny::run;
using tiny::Shipped;

// As run(), of an adapter.
Outcome run_adapter(const train::Recipe& r, const fs::path& out, int64_t until) {
  Outcome done;
  const bool resume = fs::exists(out);
  comm::run_ranks(1, [&](comm::Communicator& c) {
    train::TrainOptions o{.out = out, .resume = resume};
    train::Trainer t(r, nn::builtin_registry(), c, rl::with_rollouts(o, r, nn::builtin_registry()));
    while (t.finished() < until && t.step()) done.steps.push_back(t.last());
    t.checkpoint();
    t.export_model(out / "model", DType::f32);
    const SafetensorsFile adapter(out / "model" / "adapter_model.safetensors");
    for (const auto& [name, entry] : adapter.entries()) done.weights[name] = adapter.tensor(name).clone();
  });
  return done;
}

double largest_b(const Outcome& o) {
  double largest = 0;
  for (const auto& [name, t] : o.weights)
    if (name.ends_with("lora_B.weight"))
      for (const float x : t.span<float>()) largest = std::max(largest, std::abs(static_cast<double>(x)));
  return largest;
}

// An adapter learns beside a frozen base, quantized too: what samples is what learns (ratios of fresh rollouts are 1 but for
// rounding, also once the adapter is no longer zero), the KL is one to the base, and resumed runs are undisturbed ones.
TEST(Rl, AdaptersLearnFromTheirOwnAnswers) {
  const Folder f("rl_adapter");
  const auto with = [&](const std::string& adapter, const std::string& rl = "") {
    train::Recipe r = recipe(f, rl, "adapter = { " + adapter + " }\n");
    r.phase[0].schedule.peak = 3e-3;
    return r;
  };
  const Outcome whole = run_adapter(with("rank = 4, dropout = 0.1"), f.path / "whole", 4);
  run_adapter(with("rank = 4, dropout = 0.1"), f.path / "parts", 2);
  EXPECT_TRUE(equal(whole, run_adapter(with("rank = 4, dropout = 0.1"), f.path / "parts", 4)));
  // Quantized products of one token and of many round differently: there sampling and learning may be as far apart as they are
  // without an adapter, in a run at learning rate 0.
  for (const std::string base : {"f32", "q8"}) {
    const std::string settings = fmt::format("rank = 4, base = \"{}\"", base);
    train::Recipe still = with(settings);
    still.phase[0].schedule.peak = still.phase[0].schedule.final = 0;
    double kl = 1e-4, ratio = 2e-2;
    if (base == "q8")
      for (const train::StepMetrics& m : run_adapter(still, f.path / "still", 3).steps)
        kl = std::max(kl, 2 * std::abs(*m.kl)), ratio = std::max(ratio, 2 * (*m.max_ratio - 1));
    const Outcome done = run_adapter(with(settings, "loss = { kl = 0.01 }"), f.path / base, 3);
    for (const train::StepMetrics& m : done.steps) {
      ASSERT_TRUE(m.kl && m.max_ratio) << base;
      EXPECT_LT(std::abs(*m.kl), kl) << base;
      EXPECT_NEAR(*m.max_ratio, 1, ratio) << base;
    }
    EXPECT_GT(largest_b(done), 1e-3) << base;
  }
}

// Answers are sampled from a twin of base and adapter: exact ratios of fresh rollouts are 1 bit for bit with an adapter that
// has moved, and a thread that samples ahead does not meet one that moves. Resumed runs are undisturbed ones.
TEST(Rl, AdaptersSampleExactlyAndAhead) {
  const Folder f("rl_adapter_twin");
  const auto with = [&](const std::string& base, const std::string& rl) {
    train::Recipe r = recipe(f, rl, fmt::format("adapter = {{ rank = 4, base = \"{}\" }}\n", base));
    r.phase[0].schedule.peak = r.phase[0].schedule.final = 5e-3;
    return r;
  };
  for (const std::string base : {"f32", "q8"}) {
    const Outcome exact = run_adapter(with(base, "exact = true"), f.path / ("exact-" + base), 4);
    ASSERT_EQ(exact.steps.size(), 4u);
    int64_t learned = 0;
    for (const train::StepMetrics& m : exact.steps) {
      if (!m.max_ratio) continue;  // all answers of each problem earned the same: nothing to learn
      ++learned;
      EXPECT_EQ(*m.max_ratio, 1) << base;
      EXPECT_EQ(m.masked, 0) << base;
    }
    EXPECT_GE(learned, 2) << base << ": one of them after the adapter has moved";
    EXPECT_GT(largest_b(exact), 1e-3) << base << ": the adapter has moved";
    const std::string rl =
        base == "f32" ? "ahead = 2\nmax_sequences = 4\nreplay_routes = true" : "ahead = 1\nexact = true";
    const train::Recipe r = with(base, rl);
    const Outcome whole = run_adapter(r, f.path / ("whole-" + base), 4);
    ASSERT_EQ(whole.steps.size(), 4u);
    EXPECT_GE(*whole.steps[3].staleness, 1);
    run_adapter(r, f.path / ("stop-" + base), 2);
    const Outcome rest = run_adapter(r, f.path / ("stop-" + base), 4);
    ASSERT_EQ(rest.steps.size(), 2u);
    EXPECT_TRUE(equal(whole, rest)) << base << " " << rl;
    EXPECT_EQ(whole.steps[3].reward, rest.steps.back().reward);
    EXPECT_EQ(whole.steps[3].max_ratio, rest.steps.back().max_ratio);
    kernels::set_exact_rows(false);
  }
}

// The twin of an adapter whose B is not zero gives an answer the same bits in company and alone, and follows the adapter
// when it is asked to and not before.
TEST(Rl, AdapterTwinsScoreTheSameInAnyCompany) {
  const fs::path folder = fs::path(QUERN_SOURCE_DIR) / "models/zaya-nano";
  const Shipped s;
  for (const std::string format : {"f32", "bf16", "q8", "q4"}) {
    models::LoadOptions base;
    if (format == "f32" || format == "bf16")
      base.dtype = format == "bf16" ? DType::bf16 : DType::f32;
    else
      base.scheme = kernels::QuantFormat(kernels::parse_format(format, "format"));
    models::TrainedAdapter adapter({.rank = 4}, 3);
    models::LoadOptions learning = base;
    learning.paths = &adapter;
    const auto model = models::load_model(nn::builtin_registry(), folder, learning);
    models::AdapterTwin twin(nn::builtin_registry(), folder, base, adapter);
    infer::Engine many(twin.model(),
                       {.max_sequences = 16, .cache_bytes = 0, .exact = true, .tokenizer = &s.tokenizer});
    infer::Engine alone(twin.model(),
                        {.max_sequences = 1, .cache_bytes = 0, .exact = true, .tokenizer = &s.tokenizer});
    rl::RolloutSampler sampler(many, s.tokenizer, s.chat_template,
                               {.group = 8, .max_tokens = 40, .stop_ids = s.stop_ids});
    const gym::NamedEnvironment& e = gym::plugin_environments().find("lists");
    const auto ask = [&](uint64_t seed) {
      return rl::RolloutRequest{
          .environment = &e, .problem = e.generate(seed, 1), .problem_seed = seed, .seed = seed};
    };
    const auto before = sampler.run({ask(8), ask(9)}, 0);
    Rng random(7);
    adapter.visit("", [&](const std::string& name, grad::Parameter& p) {
      if (name.ends_with("lora_B.weight"))
        for (float& x : p.value.span<float>()) x = static_cast<float>(random.uniform() - 0.5) * 0.1F;
    });
    const auto logprobs = [](const std::vector<infer::RolloutRecord>& all) {
      std::vector<float> out;
      for (const infer::RolloutRecord& r : all) out.insert(out.end(), r.logprobs.begin(), r.logprobs.end());
      return out;
    };
    const auto sampled = [](const std::vector<rl::RolloutGroup>& groups) {
      std::vector<float> out;
      for (const rl::RolloutGroup& g : groups)
        for (const rl::Rollout& r : g.rollouts)
          out.insert(out.end(), r.record.logprobs.begin(), r.record.logprobs.end());
      return out;
    };
    EXPECT_EQ(sampled(before), logprobs(rl::engine_scores(alone, before))) << format << ": as it was";
    twin.refresh();
    EXPECT_NE(sampled(before), logprobs(rl::engine_scores(alone, before))) << format << ": the adapter has moved";
    const auto after = sampler.run({ask(8), ask(9)}, 1);
    EXPECT_EQ(sampled(after), logprobs(rl::engine_scores(alone, after))) << format;
    kernels::set_exact_rows(false);
    double widest = 0;
    for (const rl::RolloutGroup& g : after)
      for (const rl::Rollout& r : g.rollouts) {
        const std::vector<float> learner =
            rl::pass_scores(*model, g.prompt, r.record, {.routes = rl::Routes::replayed});
        for (size_t i = 0; i < learner.size(); ++i)
          widest = std::max(widest, std::abs(static_cast<double>(learner[i] - r.record.logprobs[i])));
      }
    if (format == "f32") {
      EXPECT_LT(widest, 1e-3) << "the learner's pass with its own factors";
    }
  }
}

}  // namespace
}  // namespace quern
