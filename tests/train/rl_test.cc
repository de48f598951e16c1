// Reinforcement learning end to end on the shipped model: a run that is stopped and resumed, also with rollouts waiting,
// gives the bits of an undisturbed one; without stale rollouts exact ratios are 1; micro-batches do not show.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>

#include "quern/comm/in_process.h"
#include "quern/kernels/cpu/products.h"
#include "quern/models/adapter_twin.h"
#include "quern/models/checkpoint.h"
#include "quern/models/packed_twin.h"
#include "quern/rl/parity.h"
#include "quern/rl/policy_batches.h"
#include "quern/rl/rollout_buffer.h"
#include "quern/rl/rollout_checks.h"
#include "quern/rl/rollout_sampler.h"
#include "quern/rl/rollout_source.h"
#include "quern/rl/rollout_supply.h"
#include "quern/rl/scores.h"
#include "quern/text/chat/aggregation_prompt.h"
#include "tests/train/tiny_rl.h"
#include "tests/train/tiny_run.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using tiny::Folder;

train::Recipe recipe(const Folder& f, const std::string& rl = "", const std::string& more = "") {
  return train::read_recipe(tiny::write_rl_recipe(f.path, rl, more));
}

struct Outcome {
  std::vector<train::StepMetrics> steps;
  std::map<std::string, Tensor> weights;
};

// Steps up to `until` of the recipe; from the newest checkpoint, if there is one. What rank 0 has of them.
Outcome run(const train::Recipe& r, const fs::path& out, int64_t until, int ranks = 1) {
  Outcome done;
  const bool resume = fs::exists(out);
  comm::run_ranks(ranks, [&](comm::Communicator& c) {
    train::TrainOptions o{.out = out, .resume = resume};
    train::Trainer t(r, nn::builtin_registry(), c, rl::with_rollouts(o, r, nn::builtin_registry()));
    std::vector<train::StepMetrics> steps;
    while (t.finished() < until && t.step()) steps.push_back(t.last());
    t.checkpoint();
    if (c.rank() > 0) return;
    done.steps = std::move(steps);
    t.model().visit("", [&](const std::string& name, grad::Parameter& p) { done.weights[name] = p.value.clone(); });
  });
  return done;
}

bool equal(const Outcome& a, const Outcome& b) {
  return std::ranges::equal(a.weights, b.weights, [](const auto& x, const auto& y) {
    return x.first == y.first && std::ranges::equal(x.second.template span<float>(), y.second.template span<float>());
  });
}

struct Shipped {
  std::unique_ptr<models::Model> model = models::load_model(
      nn::builtin_registry(), fs::path(QUERN_SOURCE_DIR) / "models/zaya-nano", {.dtype = DType::f32, .pack = false});
  text::Tokenizer tokenizer = models::load_tokenizer(fs::path(QUERN_SOURCE_DIR) / "models/zaya-nano");
  text::ChatTemplate chat_template =
      models::load_chat_template(fs::path(QUERN_SOURCE_DIR) / "models/zaya-nano", model->family());
  std::vector<int64_t> stop_ids =
      models::load_generation_config(fs::path(QUERN_SOURCE_DIR) / "models/zaya-nano").eos_token_id;
};

TEST(Rl, ResumedRunsAreUndisturbedOnesBitForBit) {
  const Folder f("rl_resume");
  const train::Recipe r = recipe(f, "updates = 2\nexact = true");
  const Outcome whole = run(r, f.path / "whole", 4);
  ASSERT_EQ(whole.steps.size(), 4u);
  for (int64_t stop : {1, 2}) {  // after 1, half of the rollouts wait in the checkpoint
    const fs::path out = f.path / fmt::format("stop{}", stop);
    run(r, out, stop);
    const Outcome rest = run(r, out, 4);
    ASSERT_EQ(static_cast<int64_t>(rest.steps.size()), 4 - stop);
    EXPECT_TRUE(equal(whole, rest)) << "stopped after step " << stop;
    EXPECT_EQ(whole.steps[3].reward, rest.steps.back().reward);
    EXPECT_EQ(whole.steps[3].loss, rest.steps.back().loss);
    EXPECT_EQ(rest.steps.back().staleness, 1);
    EXPECT_EQ(whole.steps[3].max_ratio, rest.steps.back().max_ratio);
  }
  kernels::set_exact_rows(false);
  std::ifstream log(f.path / "stop1" / "rollouts.jsonl");
  int64_t lines = 0;
  for (std::string line; std::getline(log, line); ++lines)
    EXPECT_EQ(Json::parse(line).at("step").as_int(), lines / 3 + 1);
  EXPECT_EQ(lines, 12) << "three problems a step, each step once";
}

// What an earlier round left over, here by a batch size that was changed behind a checkpoint, is part of the next round and
// not all of it. Aggregation prompts leave a group over now and then.
TEST(Rl, RoundsAreFilledUpByWhatTheyLack) {
  const Folder f("rl_left_over");
  run(recipe(f, "updates = 2"), f.path / "out", 1);  // three groups wait
  train::Recipe wider = recipe(f);
  wider.phase[0].batch_size = 4;
  const Outcome rest = run(wider, f.path / "out", 3);
  ASSERT_EQ(rest.steps.size(), 2u);
  EXPECT_EQ(rest.steps[0].staleness, 0.75) << "three old groups and a fresh one";
  EXPECT_EQ(rest.steps[1].staleness, 0);
}

// Answers that other weights began go on in the next step; none of it depends on which thread is faster.
TEST(Rl, RolloutsSampledAheadResumeBitForBit) {
  const Folder f("rl_ahead");
  const train::Recipe r = recipe(f, "ahead = 2\nmax_sequences = 4\nreplay_routes = true");
  const Outcome whole = run(r, f.path / "whole", 4);
  ASSERT_EQ(whole.steps.size(), 4u);
  EXPECT_EQ(whole.steps[0].staleness, 0);
  EXPECT_GT(*whole.steps[3].staleness, 1);
  EXPECT_LE(*whole.steps[3].staleness, 4) << "ahead and 2, at most";
  const Outcome again = run(r, f.path / "again", 4);
  EXPECT_TRUE(equal(whole, again));
  run(r, f.path / "stop", 2);
  const Outcome rest = run(r, f.path / "stop", 4);
  ASSERT_EQ(rest.steps.size(), 2u);
  EXPECT_TRUE(equal(whole, rest));
  EXPECT_EQ(whole.steps[3].reward, rest.steps.back().reward);
  EXPECT_EQ(whole.steps[3].staleness, rest.steps.back().staleness);
}

// Problems are asked again with the ends of the answers to them, before and after a checkpoint.
TEST(Rl, AggregationPromptsShowOwnAnswers) {
  const Folder f("rl_aggregation");
  train::Recipe r =
      recipe(f, "ahead = 1\nmax_sequences = 8\naggregation = { share = 1.0, candidates = 2, tail = 24 }");
  r.phase[0].rl.difficulty = {.start = 4}, r.phase[0].rl.max_tokens = 100;
  const Outcome whole = run(r, f.path / "whole", 4);
  run(r, f.path / "part", 2);
  EXPECT_TRUE(equal(whole, run(r, f.path / "part", 4)));
  std::ifstream log(f.path / "whole" / "rollouts.jsonl");
  int aggregated = 0, plain = 0;
  for (std::string line; std::getline(log, line);) {
    const Json j = Json::parse(line);
    ++(j.at("aggregation", "line").as_bool("aggregation") ? aggregated : plain);
  }
  EXPECT_GT(aggregated, 0);
  EXPECT_GE(plain, aggregated);
}

TEST(Rl, AggregationPromptsAreThoseOfInference) {
  Shipped s;
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.tokenizer = &s.tokenizer});
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 3, .max_tokens = 120, .stop_ids = s.stop_ids});
  const gym::NamedEnvironment& e = gym::plugin_environments().find("lists");
  const rl::RolloutRequest ask{.environment = &e, .problem = e.generate(8, 1), .problem_seed = 8, .seed = 21};
  const rl::RolloutGroup g = sampler.run({ask}, 0)[0];
  const std::vector<int32_t> prompt = sampler.aggregation_prompt_of(g, std::vector<int64_t>{2, 0}, 5);
  const std::string text = s.tokenizer.decode(prompt, text::SpecialTokens::keep);
  for (const std::string& piece : text::aggregation_pieces(g.problem.question, 2))
    EXPECT_NE(text.find(piece), text.npos) << text;
  const std::vector<int32_t>& shown = g.rollouts[2].record.tokens;
  const std::string whole = s.tokenizer.decode(shown, text::SpecialTokens::keep);
  const size_t from = text.find("Attempt 1:\n") + 11, to = text.find("\n\nAttempt 2");
  const std::string tail = text.substr(from, to - from);
  EXPECT_FALSE(tail.empty());
  EXPECT_LE(s.tokenizer.encode(tail).size(), 6u);
  EXPECT_NE(whole.find(tail), whole.npos) << whole;
  EXPECT_LT(whole.find(tail), whole.find("</think>")) << "the end of the thinking, not the answer";
}

// An answer that is stopped and resumed with the same weights is the answer that it would have been: its draws depend on
// seed and position, and the engine reads what there is as if it had sampled it (exact mode).
TEST(Rl, PausedAnswersGoOnAsTheyWould) {
  Shipped s;
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.exact = true, .tokenizer = &s.tokenizer});
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 3, .max_tokens = 40, .stop_ids = s.stop_ids});
  const gym::NamedEnvironment& e = gym::plugin_environments().find("lists");
  const rl::RolloutRequest ask{.environment = &e, .problem = e.generate(8, 1), .problem_seed = 8, .seed = 21};
  const rl::RolloutGroup whole = sampler.run({ask}, 0)[0];
  sampler.start(ask, 0);
  std::vector<rl::FinishedGroup> done;
  for (int64_t version = 1; done.empty(); ++version) {
    ASSERT_LT(version, 50);
    for (int i = 0; i < 7; ++i) sampler.step();
    sampler.pause();
    for (rl::GroupUnderWay at : sampler.paused())  // as a checkpoint keeps it
      sampler.restore({rl::group_under_way(Json::parse(rl::to_json(at).dump()), rl::Environments({}, {}))});
    sampler.resume(version);
    for (rl::FinishedGroup& g : sampler.take()) done.push_back(std::move(g));
  }
  kernels::set_exact_rows(false);
  const rl::RolloutGroup& parts = done[0].group;
  EXPECT_EQ(parts.version, 0);
  for (size_t i = 0; i < whole.rollouts.size(); ++i) {
    const rl::Rollout &a = whole.rollouts[i], &b = parts.rollouts[i];
    EXPECT_EQ(a.record.tokens, b.record.tokens);
    EXPECT_EQ(a.record.logprobs, b.record.logprobs);
    EXPECT_EQ(a.record.routes, b.record.routes);
    EXPECT_EQ(a.text, b.text);
    EXPECT_EQ(a.reward, b.reward);
    EXPECT_EQ(a.weights.size(), 1u);
    EXPECT_EQ(b.weights.size(), (b.record.tokens.size() + 6) / 7) << "seven tokens of each version";
  }
}

// What has had long answers starts first; how long they were is in the supply's state.
TEST(Rl, LongAnswersStartFirst) {
  Shipped s;
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.max_sequences = 1, .tokenizer = &s.tokenizer});  // groups end as they start
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 2, .max_tokens = 120, .stop_ids = s.stop_ids});
  train::RlConfig c;
  c.environments = {"logic", "walks"};
  const rl::Environments environments(c, {});
  const gym::LearnerDifficulties difficulties(environments.difficulties());
  rl::SupplyOptions options;
  options.name = "gym", options.seed = 3;
  rl::RolloutSupply first(sampler, environments, difficulties, options);
  constexpr int64_t kGroups = 8;
  const auto ended = [&](rl::RolloutSupply& supply, int64_t version) {
    supply.fill(kGroups, 0, version);
    std::vector<std::string> names;
    for (int64_t i = 0; i < kGroups; ++i) names.push_back(supply.take(1)[0].environment->name);
    return names;
  };
  const std::vector<std::string> unknown = ended(first, 0);
  EXPECT_FALSE(std::ranges::is_sorted(unknown)) << "in the order of their rows while no length is known";
  rl::RolloutSupply resumed(sampler, environments, difficulties, options);
  resumed.restore({Json::parse(first.state().dump())});
  for (rl::RolloutSupply* supply : {&first, &resumed}) {
    const std::vector<std::string> names = ended(*supply, 1);
    EXPECT_TRUE(std::ranges::is_sorted(names, std::greater())) << "walks before logic";
    EXPECT_NE(names.front(), names.back());
  }
}

// A group whose first tokens are too old by the time it ends is dropped whole.
TEST(Rl, StaleGroupsAreDroppedWhole) {
  Shipped s;
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.max_sequences = 3, .tokenizer = &s.tokenizer});
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 3, .max_tokens = 40, .stop_ids = s.stop_ids});
  const gym::NamedEnvironment& e = gym::plugin_environments().find("lists");
  for (int64_t id : {7, 8})
    sampler.start({.id = id, .environment = &e, .problem = e.generate(8, 1), .problem_seed = 8, .seed = 21}, 0);
  for (int i = 0; i < 5; ++i) sampler.step();
  sampler.pause();
  sampler.resume(3);
  sampler.step(), sampler.pause();
  ASSERT_EQ(sampler.paused().size(), 2u);
  EXPECT_EQ(sampler.paused()[0].group.version, 0);
  EXPECT_EQ(sampler.paused()[1].group.version, 3) << "it had no token of the old weights: the engine had no place";
  EXPECT_EQ(sampler.drop_older(1), (std::vector<int64_t>{7}));
  sampler.resume(4);
  while (sampler.step()) {
  }
  const std::vector<rl::FinishedGroup> done = sampler.take();
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].id, 8);
  EXPECT_EQ(done[0].group.rollouts.size(), 3u);
}

// Every rank samples its share of a step's problems; what all of them earned is known to each.
TEST(Rl, RanksShareTheProblems) {
  const Folder f("rl_ranks");
  const train::Recipe r = recipe(f);
  std::array<std::vector<train::StepMetrics>, 2> steps;
  comm::run_ranks(2, [&](comm::Communicator& c) {
    train::TrainOptions o{.out = f.path / "out"};
    train::Trainer t(r, nn::builtin_registry(), c, rl::with_rollouts(o, r, nn::builtin_registry()));
    while (t.finished() < 2 && t.step()) steps[static_cast<size_t>(c.rank())].push_back(t.last());
  });
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(steps[0][i].reward, steps[1][i].reward);
    EXPECT_EQ(steps[0][i].answer_tokens, steps[1][i].answer_tokens);
    EXPECT_EQ(steps[0][i].difficulty, steps[1][i].difficulty);
  }
  const Outcome alone = run(r, f.path / "alone", 1);
  EXPECT_NEAR(*steps[0][0].reward, *alone.steps[0].reward, 1e-12) << "the same problems, the same answers";
}

// A rank that samples and one that learns from it are one rank that does both, bit for bit, also across a checkpoint and
// with answers under way; three ranks of which two sample see the same problems.
TEST(Rl, RanksThatSampleForAnotherChangeNothing) {
  const Folder f("rl_samplers");
  const std::string ahead = "ahead = 1\nmax_sequences = 8\naggregation = { share = 0.5, candidates = 2, tail = 24 }";
  const Outcome alone = run(recipe(f, ahead), f.path / "alone", 4);
  const train::Recipe r = recipe(f, ahead + "\nsamplers = 1");
  run(r, f.path / "pair", 2, 2);
  const Outcome pair = run(r, f.path / "pair", 4, 2);
  ASSERT_EQ(pair.steps.size(), 2u);
  EXPECT_TRUE(equal(alone, pair));
  for (size_t i : {0u, 1u}) {
    EXPECT_EQ(alone.steps[i + 2].reward, pair.steps[i].reward);
    EXPECT_EQ(alone.steps[i + 2].staleness, pair.steps[i].staleness);
  }
  std::ifstream a(f.path / "alone" / "rollouts.jsonl"), b(f.path / "pair" / "rollouts.jsonl");
  const std::string wanted((std::istreambuf_iterator<char>(a)), {}), got((std::istreambuf_iterator<char>(b)), {});
  EXPECT_EQ(wanted, got);
  const train::Recipe two = recipe(f, "samplers = 2");
  const Outcome one = run(recipe(f), f.path / "one", 1), three = run(two, f.path / "three", 1, 3);
  EXPECT_NEAR(*one.steps[0].reward, *three.steps[0].reward, 1e-12) << "the same problems, the same answers";
  EXPECT_THROW(run(two, f.path / "none", 1, 2), Error) << "none would learn";
}

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
    r.phase[0].schedule.peak = 3e-2;
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

TEST(Rl, MetricsSayWhatHappened) {
  const Folder f("rl_metrics");
  const Outcome done = run(recipe(f, "updates = 2"), f.path / "out", 2);
  const train::StepMetrics &fresh = done.steps[0], &stale = done.steps[1];
  EXPECT_EQ(fresh.staleness, 0);
  EXPECT_EQ(stale.staleness, 1);
  for (const train::StepMetrics& m : done.steps) {
    for (const auto& share : {m.reward, m.solved, m.signal, m.finished, m.repeated}) {
      ASSERT_TRUE(share);
      EXPECT_GE(*share, 0);
      EXPECT_LE(*share, 1);
    }
    EXPECT_GT(*m.answer_tokens, 1);
    EXPECT_LE(*m.answer_tokens, 48);
  }
  ASSERT_TRUE(fresh.kl);
  EXPECT_LT(std::abs(*fresh.kl), 1e-4) << "in f32, one forward pass and the engine agree";
  EXPECT_NEAR(*fresh.max_ratio, 1, 1e-2);
}

TEST(Rl, ExactRatiosOfFreshRolloutsAreOne) {
  const Folder f("rl_exact");
  const Outcome done = run(recipe(f, "exact = true\nupdates = 2"), f.path / "out", 2);
  kernels::set_exact_rows(false);
  EXPECT_EQ(done.steps[0].max_ratio, 1);
  EXPECT_EQ(done.steps[0].masked, 0);
  EXPECT_EQ(done.steps[0].kl, 0);
  EXPECT_NE(done.steps[1].kl, 0) << "after an update the policies differ";
}

TEST(Rl, ImpossibleRecipesAreRefusedBeforeTheFirstStep) {
  const Folder f("rl_refused");
  EXPECT_THROW(recipe(f, "group = 1"), Error);
  EXPECT_THROW(recipe(f, "advantage = \"best\""), Error);
  EXPECT_THROW(recipe(f, "updates = 0"), Error);
  EXPECT_THROW(recipe(f, "ahead = -1"), Error);
  EXPECT_THROW(recipe(f, "aggregation = { share = 0.5, candidates = 5 }"), Error) << "groups have fewer answers";
  EXPECT_THROW(recipe(f, "ahead = 1\nupdates = 2"), Error);
  EXPECT_THROW(recipe(f, "max_staleness = 3"), Error) << "nothing is sampled ahead";
  EXPECT_THROW(recipe(f, "ahead = 3\nmax_staleness = 2"), Error);
  EXPECT_THROW(recipe(f, "exact = true\ntemperature = 0.7"), Error);
  EXPECT_THROW(recipe(f, "", "[parallel]\nexperts = 2"), Error);
  EXPECT_THROW(recipe(f, "", "[parallel]\ncontext = 2"), Error);
  EXPECT_THROW(recipe(f, "[phase.rl.loss]\nkind = \"dpo\""), Error);
  train::Recipe unknown = recipe(f);
  unknown.phase[0].rl.environments = {"chess"};
  EXPECT_THROW(rl::check_rollouts(unknown), Error);
  train::Recipe silent = recipe(f);
  silent.model.from = (f.path / "nothing").string();
  EXPECT_THROW(rl::check_rollouts(silent), Error);
}

// Problems that do not fit count as failed: the difficulty falls, and the run goes on. At difficulty 0 it ends.
TEST(Rl, ProblemsThatAreTooLongLowerTheDifficulty) {
  const Folder f("rl_long");
  train::Recipe r = recipe(f);
  r.phase[0].rl.environments = {"lists"};
  r.phase[0].rl.difficulty = {.window = 1, .start = 60};
  const Outcome done = run(r, f.path / "out", 2);
  EXPECT_FALSE(done.steps[0].reward);
  EXPECT_LT(*done.steps[1].difficulty, *done.steps[0].difficulty);
  r.phase[0].rl.difficulty = {.window = 1, .start = 0};
  r.phase[0].sequence_length = 8;
  EXPECT_THROW(run(r, f.path / "short", 1), Error);
  r.phase[0].sequence_length = 30;
  EXPECT_THROW(run(r, f.path / "narrow", 1), Error) << "no room for an answer";
  r.phase[0].sequence_length = 5000;
  EXPECT_THROW(run(r, f.path / "wide", 1), Error) << "the model has 4,096 positions";
}

// Task files stand beside environments: held-out tasks are never asked, long ones neither, and a file that changed while
// answers to its tasks wait in a checkpoint is refused.
TEST(Rl, LearnsFromTaskFiles) {
  const Folder f("rl_tasks");
  const auto write = [&](int shift) {
    std::ofstream out(f.path / "sums.jsonl");
    for (int i = 0; i < 40; ++i)
      out << fmt::format(R"({{"question": "{}What is {} + {}?", "verifier": "number", "answer": {}, "split": "{}"}})"
                         "\n",
                         i % 4 == 1 ? std::string(2000, 'x') + " " : "", i, shift, i + shift,
                         i % 2 == 0 || i % 4 == 1 ? "train" : "held_out");
  };
  write(3);
  train::Recipe r = recipe(f, "updates = 2\ntasks = [\"sums.jsonl\"]");
  r.phase[0].rl.environments = {"lists"}, r.phase[0].rl.difficulty = {.start = 2};
  run(r, f.path / "out", 1);
  std::map<std::string, int> asked;
  const Outcome whole = run(r, f.path / "whole", 4);
  std::ifstream lines(f.path / "whole" / "rollouts.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const Json j = Json::parse(line);
    const std::string name = j.at("environment", "line").as_string("environment");
    ++asked[name];
    if (name != "sums.jsonl") continue;
    EXPECT_EQ(j.at("difficulty", "line").as_int(), 0) << "tasks have no difficulties";
    const std::string question = j.at("question", "line").as_string("question");
    EXPECT_LT(question.size(), 100u);
    EXPECT_EQ(std::stoi(question.substr(8)) % 2, 0) << question;
  }
  EXPECT_GT(asked["sums.jsonl"], 0);
  EXPECT_GT(asked["lists"], 0);
  EXPECT_TRUE(equal(whole, run(r, f.path / "out", 4))) << "resumed with tasks that wait";

  run(r, f.path / "changed", 1);
  write(4);
  EXPECT_THROW(run(r, f.path / "changed", 4), Error);
  r.phase[0].rl.tasks = {"none.jsonl"};
  EXPECT_THROW(rl::check_rollouts(r), Error);
  r.phase[0].rl.tasks = {"sums.jsonl", "sums.jsonl"};
  EXPECT_THROW(rl::check_rollouts(r), Error);
  r.phase[0].rl.environments = {}, r.phase[0].rl.tasks = {"sums.jsonl"};
  EXPECT_TRUE(r.phase[0].rl.on());
  rl::check_rollouts(r);
}

std::vector<rl::RolloutGroup> some_groups(Shipped& s) {
  models::PackedTwin twin(nn::builtin_registry(), *s.model, kernels::QuantFormat(kernels::WeightFormat::f32));
  infer::Engine engine(twin.model(), {.tokenizer = &s.tokenizer});
  rl::RolloutSampler sampler(engine, s.tokenizer, s.chat_template,
                             {.group = 3, .max_tokens = 40, .stop_ids = s.stop_ids});
  std::vector<rl::RolloutRequest> asks;
  for (const char* name : {"lists", "stories"}) {
    const gym::NamedEnvironment& e = gym::plugin_environments().find(name);
    asks.push_back({.environment = &e, .problem = e.generate(8, 1), .problem_seed = 8, .seed = 21});
  }
  std::vector<rl::RolloutGroup> groups = sampler.run(std::move(asks), 3);
  double a = -1;
  for (rl::RolloutGroup& g : groups)
    for (rl::Rollout& r : g.rollouts) r.advantage = a += 0.4;
  return groups;
}

TEST(Rl, MicroBatchesDoNotShowInTheGradient) {
  Shipped s;
  const std::vector<rl::RolloutGroup> groups = some_groups(s);
  std::vector<rl::LearnedRollout> rollouts;
  for (const rl::RolloutGroup& g : groups)
    for (const rl::Rollout& r : g.rollouts) rollouts.push_back({&g, &r});
  for (const char* normalize : {"rollout", "token"}) {
    std::vector<std::map<std::string, Tensor>> gradients;
    std::vector<double> losses;
    for (int64_t micro_tokens : {100000, 1}) {
      train::RlConfig c;
      c.max_tokens = 40, c.micro_tokens = micro_tokens, c.loss.normalize = normalize;
      const std::vector<train::MicroBatch> micro = rl::policy_batches(rollouts, c);
      EXPECT_EQ(micro.size(), micro_tokens == 1 ? rollouts.size() : 1);
      int64_t total = 0;
      for (const train::MicroBatch& m : micro) total += m.weight;
      nn::zero_grad(*s.model);
      rl::PolicyStats stats;
      double loss = 0;
      for (const train::MicroBatch& m : micro) {
        grad::Tape tape(grad::Tape::training);
        const grad::Var l = rl::policy_loss(tape, *s.model, m, stats);
        const double share = static_cast<double>(m.weight) / static_cast<double>(total);
        loss += share * l.value.item();
        tape.backward(l, share);
      }
      losses.push_back(loss);
      auto& here = gradients.emplace_back();
      s.model->visit("", [&](const std::string& name, grad::Parameter& p) {
        if (p.trainable && p.grad.defined()) here[name] = p.grad.clone();
      });
      EXPECT_LT(std::abs(stats.log_ratio / stats.tokens), 1e-4);
    }
    EXPECT_NEAR(losses[0], losses[1], 1e-5);
    for (const auto& [name, g] : gradients[0]) {
      double size = 0, apart = 0;
      for (int64_t i = 0; i < g.size(); ++i) {
        const double x = static_cast<double>(g.data<float>()[i]),
                     d = x - static_cast<double>(gradients[1].at(name).data<float>()[i]);
        size += x * x, apart += d * d;
      }
      EXPECT_LE(std::sqrt(apart), 2e-3 * std::sqrt(size) + 1e-9) << normalize << " " << name;
    }
  }
}

TEST(Rl, WaitingRolloutsSurviveACheckpoint) {
  Shipped s;
  const std::vector<rl::RolloutGroup> groups = some_groups(s);
  std::vector<rl::RolloutGroup> back;
  for (const rl::RolloutGroup& g : groups)
    back.push_back(rl::rollout_group(Json::parse(rl::to_json(g).dump()), rl::Environments({}, {})));
  for (size_t g = 0; g < groups.size(); ++g) {
    EXPECT_EQ(back[g].prompt, groups[g].prompt);
    EXPECT_EQ(back[g].problem.question, groups[g].problem.question);
    EXPECT_EQ(back[g].version, 3);
    for (size_t i = 0; i < groups[g].rollouts.size(); ++i) {
      const rl::Rollout &a = groups[g].rollouts[i], &b = back[g].rollouts[i];
      EXPECT_EQ(a.record.tokens, b.record.tokens);
      EXPECT_EQ(a.record.logprobs, b.record.logprobs) << "to the bit";
      EXPECT_EQ(a.record.routes, b.record.routes);
      EXPECT_EQ(a.weights, b.weights);
      EXPECT_EQ(a.advantage, b.advantage);
      EXPECT_EQ(a.reward, b.reward);
      EXPECT_EQ(a.text, b.text);
    }
  }
}

TEST(Rl, ParityIsZeroInExactModeAndSmallWithoutIt) {
  Shipped s;
  rl::ParityOptions o{.tokens = 400, .max_tokens = 40, .environment = "units", .stop_ids = s.stop_ids};
  const rl::ParityReport fast = rl::measure_parity(nn::builtin_registry(), *s.model, s.tokenizer, s.chat_template, o);
  EXPECT_GE(fast.own.tokens, 400);
  EXPECT_LT(fast.replayed.kl, 1e-2);
  EXPECT_GT(fast.replayed.pearson, 0.99);
  EXPECT_GT(fast.replayed.max_abs_delta_logprob, 0) << "two passes in bf16 round differently";
  o.exact = true;
  const rl::ParityReport exact =
      rl::measure_parity(nn::builtin_registry(), *s.model, s.tokenizer, s.chat_template, o);
  kernels::set_exact_rows(false);
  EXPECT_GE(exact.exact.tokens, 400);
  EXPECT_EQ(exact.exact.max_abs_delta_logprob, 0);
  EXPECT_EQ(exact.share_routes_differ, 0);
}

}  // namespace
}  // namespace quern
