// An attention cache in 8 bits on whole models: what it declares and weighs, how far its logits are from those of an
// unquantized one, and that resuming, forking, going back, files, guesses and ranks keep it whole. Rows are rounded
// once, when they are appended, so wherever the same pieces are fed the bits are the same.
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "quern/base/test_message.h"
#include "quern/comm/in_process.h"
#include "quern/infer/cache/kv_type.h"
#include "quern/infer/cache/state_file.h"
#include "quern/mixers/ranks/cache_shards.h"
#include "quern/mixers/state_totals.h"
#include "tests/models/engine_on.h"

namespace quern {
namespace {

class KvQ8 : public EngineOn {
 protected:
  Tensor feed(mixers::SequenceState& state, std::span<const int32_t> ids) {  // logits of every row
    const auto n = static_cast<int64_t>(ids.size());
    grad::Tape tape(grad::Tape::inference);
    return model_->logits(tape, model_->hidden(tape, ids, mixers::Batch::resume({&state}, {n}))).value.to(DType::f32);
  }
  Tensor feed_in_pieces(mixers::SequenceState& state, std::span<const int32_t> ids,
                        const std::vector<size_t>& pieces) {
    Tensor last;
    for (size_t n : pieces) last = feed(state, ids.first(n)), ids = ids.subspan(n);
    return last;
  }
  mixers::SequenceState fresh(DType kv = DType::i8) const { return mixers::SequenceState(model_->sites(kv)); }
  static void expect_same_bits(const Tensor& a, const Tensor& b) {
    ASSERT_EQ(a.shape(), b.shape());
    EXPECT_EQ(std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())), 0);
  }
};

std::vector<double> log_softmax(const Tensor& row) {
  std::vector<double> x;
  for (float v : row.span<float>()) x.push_back(static_cast<double>(v));
  const double top = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double v : x) sum += std::exp(v - top);
  for (double& v : x) v -= top + std::log(sum);
  return x;
}

// KL(p ‖ q) of the distributions in two tensors of logits, summed over rows.
double divergence(const Tensor& p_logits, const Tensor& q_logits) {
  double kl = 0;
  for (int64_t i = 0; i < p_logits.dim(0); ++i) {
    const std::vector<double> p = log_softmax(p_logits.narrow(0, i, 1).clone()),
                              q = log_softmax(q_logits.narrow(0, i, 1).clone());
    for (size_t k = 0; k < p.size(); ++k) kl += std::exp(p[k]) * (p[k] - q[k]);
  }
  return kl;
}

TEST_P(KvQ8, EveryPerTokenPartIsBytesAndScales) {
  int64_t q8 = 0, bf16 = 0, scales = 0;
  const std::vector<mixers::StateSite> sites = model_->sites(DType::i8), wide = model_->sites(DType::bf16);
  ASSERT_EQ(sites.size(), wide.size());
  for (size_t i = 0; i < sites.size(); ++i)
    for (const mixers::StatePart& p : sites[i].spec.parts) {
      if (!p.per_token) {  // recurrent states and tails stay as they are
        const auto same = [&](const mixers::StatePart& w) { return w.name == p.name && w.dtype == p.dtype; };
        EXPECT_TRUE(std::ranges::any_of(wide[i].spec.parts, same)) << p.name;
        continue;
      }
      const bool scale = p.name.ends_with("_scale");
      EXPECT_EQ(p.dtype, scale ? DType::f32 : DType::i8) << p.name;
      (scale ? scales : q8) += element_count(p.shape) * dtype_size(p.dtype);
    }
  for (const mixers::StateSite& s : wide) bf16 += s.spec.bytes_per_token();
  EXPECT_EQ(2 * q8, bf16) << "half of the rows' bytes";
  EXPECT_EQ(mixers::state_totals(sites).row_bytes, q8 + scales);
  EXPECT_EQ(mixers::state_totals(sites).fixed_bytes, mixers::state_totals(wide).fixed_bytes);
  mixers::SequenceState state = fresh();
  feed(state, random_tokens(10, 1));
  EXPECT_EQ(state.bytes(), 10 * (q8 + scales) + mixers::state_totals(sites).fixed_bytes);
}

// Eight bits round a row's elements by about five times as much as bf16 does, and divergence is of second order.
TEST_P(KvQ8, LogitsAreNearThoseOfAnUnquantizedCache) {
  const Tokens text = random_tokens(90, 2);
  for (const std::vector<size_t>& pieces : {std::vector<size_t>(90, 1), {70, 1, 1, 5, 13}}) {
    mixers::SequenceState exact = fresh(DType::f32), q8 = fresh(), bf16 = fresh(DType::bf16);
    std::span<const int32_t> left = text;
    double kl_q8 = 0, kl_bf16 = 0;
    for (size_t n : pieces) {
      const Tensor a = feed(exact, left.first(n)), b = feed(q8, left.first(n)), c = feed(bf16, left.first(n));
      left = left.subspan(n);
      kl_q8 += divergence(a, b), kl_bf16 += divergence(a, c);
    }
    EXPECT_LT(kl_q8, 60 * kl_bf16);
    EXPECT_LT(kl_q8 / 90, 0.02);
    EXPECT_GT(kl_q8, 2 * kl_bf16) << "or it was not in 8 bits";
  }
}

TEST_P(KvQ8, CachedAndColdAreBitIdenticalAtExactCuts) {
  Tokens first = random_tokens(150, 5), second = first;
  second.resize(135);
  const Tokens rest = random_tokens(15, 6);
  second.insert(second.end(), rest.begin(), rest.end());
  const infer::EngineOptions o{.kv = DType::i8, .chunk = 16, .deterministic_prefix_cache = true};
  const infer::Request r = greedy(second, 6);
  const infer::Generated cold = infer::Engine(*model_, o).run(r);
  infer::Engine warm(*model_, o);
  warm.run(greedy(first, 4));
  const infer::Generated g = warm.run(r);
  EXPECT_EQ(g.cached_tokens, 128);
  EXPECT_EQ(g.tokens, cold.tokens);
  EXPECT_EQ(g.logprobs, cold.logprobs) << "bit for bit";
}

TEST_P(KvQ8, PrefixesAreSharedSplitAndResumed) {
  infer::Engine engine(*model_, {.kv = DType::i8, .chunk = 64});
  const Tokens system = random_tokens(100, 1);
  for (uint64_t i = 0; i < 3; ++i) {
    Tokens prompt = system;
    const Tokens tail = random_tokens(40, 2 + i), forced = random_tokens(5, 9);
    prompt.insert(prompt.end(), tail.begin(), tail.end());
    infer::Request r = greedy(prompt, 5);
    r.options.forced = forced;
    const infer::Generated g = engine.run(r),
                           cold = infer::Engine(*model_, {.kv = DType::i8, .cache_bytes = 0}).run(r);
    EXPECT_GE(g.cached_tokens, i > 0 ? 64 : 0) << g.cache_note;
    // Pieces differ, so a number in a cache may be rounded the other way.
    for (size_t k = 0; k < 5; ++k) EXPECT_NEAR(g.logprobs[k], cold.logprobs[k], 0.02);
  }
}

TEST_P(KvQ8, ForksAndCutsLeaveWhatWasNeverThere) {
  const Tokens text = random_tokens(60, 3), wrong = random_tokens(9, 4);
  const std::span<const int32_t> ids = text;
  mixers::SequenceState plain = fresh();
  const Tensor want = feed_in_pieces(plain, ids, {20, 1, 7});

  mixers::SequenceState a = fresh();
  feed(a, ids.first(20));
  mixers::SequenceState fork = a.fork();
  feed(fork, wrong);
  expect_same_bits(feed_in_pieces(a, ids.subspan(20), {1, 7}), want);

  mixers::SequenceState b = fresh(), mark;
  feed(b, ids.first(20));
  mark = b.fork();
  feed(b, wrong);
  b.rewind(mark);
  EXPECT_EQ(b.length(), 20);
  expect_same_bits(feed_in_pieces(b, ids.subspan(20), {1, 7}), want);
  EXPECT_EQ(b.bytes(), plain.bytes());

  if (mixers::state_totals(model_->sites(DType::i8)).fixed) return;
  mixers::SequenceState c = fresh();
  feed(c, ids.first(20)), feed(c, wrong);
  c.truncate(20);
  expect_same_bits(feed_in_pieces(c, ids.subspan(20), {1, 7}), want);
}

TEST_P(KvQ8, AFileHasTheSameBitsAndIsRefusedByAnotherTypeOfCache) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("quern-kv-" + std::to_string(getpid()));
  const Tokens text = random_tokens(40, 7);
  const std::span<const int32_t> ids = text;
  mixers::SequenceState q8 = fresh(), wide = fresh(DType::bf16);
  feed(q8, ids.first(30)), feed(wide, ids.first(30));
  infer::save_state(path, "m", ids.first(30), q8, "");
  infer::SavedState back = infer::load_state(path, "m", model_->sites(DType::i8));
  expect_same_bits(feed(back.state, ids.subspan(30)), feed(q8, ids.subspan(30)));
  EXPECT_NE(message_of([&] {
              infer::load_state(path, "m", model_->sites(DType::bf16));
            }).find("saved with KV cache type q8, but this model runs with bf16; run it with KV cache type q8"),
            std::string::npos);
  infer::save_state(path, "m", ids.first(30), wide, "");
  EXPECT_NE(message_of([&] {
              infer::load_state(path, "m", model_->sites(DType::i8));
            }).find("saved with KV cache type bf16, but this model runs with q8; run it with KV cache type bf16"),
            std::string::npos);
  std::filesystem::remove(path);
}

TEST_P(KvQ8, GuessedAnswersAreThoseOfOneTokenAfterAnother) {
  Tokens loop = random_tokens(6, 8), prompt = random_tokens(30, 3);
  for (int i = 0; i < 4; ++i) prompt.insert(prompt.end(), loop.begin(), loop.end());
  infer::Request r = greedy(prompt, 60);
  r.options.sampling.logit_bias = {{loop[0], 40}, {loop[1], 40}, {loop[2], 40}};  // the answer repeats itself
  const infer::Generated plain = infer::Engine(*model_, {.kv = DType::i8, .chunk = 16}).run(r);
  r.options.forced = {plain.tokens.begin(), plain.tokens.begin() + 1};
  r.options.speculate = infer::SpeculationOptions::by_ngram(5);
  infer::Engine engine(*model_, {.kv = DType::i8, .chunk = 16, .deterministic_prefix_cache = true});
  const infer::Generated g = engine.run(r);
  EXPECT_GT(g.speculated.all_drafted(), 5);
  EXPECT_EQ(engine.load().state_bytes, 0);
  const size_t same = static_cast<size_t>(
      std::mismatch(g.tokens.begin(), g.tokens.end(), plain.tokens.begin(), plain.tokens.end()).first -
      g.tokens.begin());
  EXPECT_GT(same, 20u);  // a near tie may fall otherwise once a number in a cache is rounded otherwise
  for (size_t i = 0; i < same; ++i) EXPECT_NEAR(g.logprobs[i], plain.logprobs[i], 0.02) << i;
}

TEST_P(KvQ8, StateMemoryIsCountedInTheCachesBytes) {
  const mixers::StateTotals t = mixers::state_totals(model_->sites(DType::i8));
  infer::Engine engine(*model_, {.kv = DType::i8, .chunk = 16, .cache_bytes = 0});
  const infer::Engine::Id id = engine.submit(greedy(random_tokens(50, 1), 14));
  engine.step();
  EXPECT_EQ(engine.load().state_bytes, t.fixed_bytes + 64 * t.row_bytes);
  while (engine.step()) {
  }
  EXPECT_EQ(engine.take(id)->finish, "length");
}

INSTANTIATE_TEST_SUITE_P(Families, KvQ8, testing::ValuesIn(kEngineFamilies), engine_family_name);

TEST(KvQ8Shards, RanksAnswerAsOneProcessDoes) {
  for (const char* name : {"llama-gqa", "mistral-window", "zaya-5-4x2"}) {
    std::vector<std::unique_ptr<models::Model>> models;  // a rank has its own
    for (int r = 0; r < 3; ++r) models.push_back(load_golden(Golden(name), DType::f32, true));
    infer::Request r;
    for (int32_t i = 0; i < 41; ++i) r.prompt.push_back((i * 7 + 3) % 60);
    for (int32_t i = 0; i < 12; ++i) r.options.forced.push_back((i * 5 + 1) % 60);
    r.options.sampling.temperature = 0, r.options.max_tokens = 12;
    const infer::Generated alone = infer::Engine(*models[0], {.kv = DType::i8, .chunk = 16, .cache_bytes = 0}).run(r);
    for (int p : {1, 3})
      comm::run_ranks(p, [&](comm::Communicator& c) {
        const mixers::CacheShards shards(c, {}, 3);
        const infer::Generated g = infer::Engine(*models[static_cast<size_t>(c.rank())],
                                                 {.kv = DType::i8, .chunk = 16, .cache_bytes = 0, .shards = &shards})
                                       .run(r);
        ASSERT_EQ(g.logprobs.size(), 12u);
        for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(g.logprobs[i], alone.logprobs[i], 0.02) << name << " " << p;
      });
  }
}

TEST(KvType, WordsAreRead) {
  EXPECT_EQ(infer::parse_kv("q8"), DType::i8);
  EXPECT_EQ(infer::parse_kv("bf16"), DType::bf16);
  EXPECT_EQ(infer::parse_kv("f32"), DType::f32);
  for (DType t : {DType::i8, DType::bf16, DType::f32}) EXPECT_EQ(infer::parse_kv(infer::kv_name(t)), t);
  EXPECT_EQ(message_of([] { infer::parse_kv("int8"); }), "'int8', expected bf16, q8 or f32");
}

}  // namespace
}  // namespace quern
