// Scaled rotary embeddings against transformers (tools/oracles/models/make_rope.py, make.py): frequencies and attention
// factors of every type; a model with dynamic frequencies in one pass, token by token into a cache, and in chunks.
#include <gtest/gtest.h>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/models/llama/llama_config.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

TEST(RopeScaling, FrequenciesAndMagnitudesEqualTransformers) {
  const std::filesystem::path file =
      std::filesystem::path(QUERN_SOURCE_DIR) / "tests" / "goldens" / "rope" / "frequencies.json";
  const Json cases = Json::parse(read_file(file));
  EXPECT_GE(cases.as_array().size(), 20u);
  for (const Json& c : cases.as_array()) {
    const std::string told = c.at("config").dump();
    const models::LlamaConfig config = models::LlamaConfig::from_hf(c.at("config"));
    const mixers::RopeConfig rope = config.rope().config;
    EXPECT_NEAR(rope.magnitude, c.at("attention_factor").as_double(), 1e-9) << told;
    const Json::Array& want = c.at("inv_freq").as_array();
    ASSERT_EQ(rope.inv_freq.size(), want.size()) << told;
    const int64_t tokens = c.at("tokens").as_int();
    const std::vector<double> stretch = rope.stretch(config.head_size(), mixers::Batch::single(tokens));
    EXPECT_EQ(stretch.empty(), tokens == 0) << told;
    for (size_t i = 0; i < want.size(); ++i) {
      const double grown = stretch.empty() ? 1 : std::pow(stretch.back(), static_cast<double>(i));
      const double expected = want[i].as_double();
      EXPECT_NEAR(rope.inv_freq[i] * grown, expected, 3e-6 * expected) << told << ", frequency " << i;
    }
  }
}

Json with_rope(const char* rope, const char* rest = "") {
  return Json::parse(fmt::format(R"({{"model_type": "llama", "hidden_size": 32, "num_attention_heads": 2,
      "max_position_embeddings": 128, "rope_parameters": {} {}}})",
                                 rope, rest));
}

TEST(RopeScaling, ContextGrowsWithYarnAndDynamic) {
  auto context = [](const Json& j) { return models::LlamaConfig::from_hf(j).rope().context; };
  EXPECT_EQ(context(with_rope(R"({"rope_type": "default"})")), 128);
  EXPECT_EQ(context(with_rope(R"({"rope_type": "linear", "factor": 4})")), 128);
  EXPECT_EQ(context(with_rope(R"({"rope_type": "dynamic", "factor": 2.5})")), 320);
  EXPECT_EQ(context(with_rope(R"({"rope_type": "yarn", "factor": 4})")), 512);
  EXPECT_EQ(context(with_rope(R"({"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 16})")), 128);
}

TEST(RopeScaling, WhatIsNotSupportedIsRefusedByName) {
  auto has = [](const Json& j, const char* part) {
    const std::string m = message_of([&] { models::LlamaConfig::from_hf(j); });
    EXPECT_NE(m.find(part), std::string::npos) << part << " | " << m;
  };
  has(with_rope(R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [1]})"),
      "'longrope' is not supported");
  has(with_rope(R"({"type": "mrope", "factor": "x"})"), "'mrope' is not supported");
  has(with_rope(R"({"rope_type": "yarn"})"), "factor is missing");
  has(with_rope(R"({"rope_type": "dynamic", "factor": 0})"), "factor: 0 is not positive");
  has(with_rope(R"({"rope_type": "yarn", "factor": 2, "beta_fast": 1, "beta_slow": 2})"),
      "beta_slow 2 <= beta_fast 1");
  has(with_rope(R"({"rope_type": "yarn", "factor": 2, "rope_theta": 1})"), "rope_theta: 1 is not above 1");
  has(with_rope(R"({"rope_type": "yarn", "factor": 2, "attention_factor": -1})"), "attention_factor: -1");
  has(with_rope(R"({"rope_type": "yarn", "factor": 2, "partial_rotary_factor": 0.5})"), "partial_rotary_factor: 0.5");
  has(with_rope(R"({"rope_type": "dynamic", "factor": 2})", R"(, "head_dim": 2)"), "head_dim is 2");
  has(with_rope(R"({"rope_type": "llama3", "factor": 2, "high_freq_factor": 4})"), "low_freq_factor is missing");
}

// qwen3-dynamic: trained for 48 tokens, 768 by a factor of 16.
class DynamicRope : public testing::Test {
 protected:
  Tensor file(const std::string& name) { return load_npy((g_.folder / (name + ".npy")).string()); }
  std::span<const int32_t> ids(int64_t n) { return std::span(g_.tokens).first(static_cast<size_t>(n)); }
  Tensor last_row(models::Model& m, int64_t n) { return infer::all_logits(m, ids(n)).narrow(0, n - 1, 1); }
  // Logits of the first tokens, fed into a cache in pieces of these lengths.
  Tensor fed(models::Model& m, const std::vector<int64_t>& pieces) {
    mixers::SequenceState state(m.sites(DType::f32));
    std::vector<Tensor> parts;
    int64_t n = 0, at = 0;
    for (int64_t piece : pieces) {
      grad::Tape tape(grad::Tape::inference);
      grad::Var h =
          m.hidden(tape, ids(n + piece).subspan(static_cast<size_t>(n)), mixers::Batch::resume({&state}, {piece}));
      parts.push_back(m.logits(tape, h).value);
      n += piece;
    }
    Tensor all = Tensor::empty({n, m.vocab_size()}, DType::f32);
    for (const Tensor& p : parts) all.narrow(0, at, p.dim(0)).copy_from(p), at += p.dim(0);
    return all;
  }
  Golden g_{"qwen3-dynamic"};
};

TEST_F(DynamicRope, OnePassOfAnyLengthEqualsTransformers) {
  for (bool pack : {false, true}) {
    auto model = load_golden(g_, DType::f32, pack);
    EXPECT_LE(logit_error(*model, g_, 700), 1e-4) << pack;
    for (int64_t n : {40, 48, 64, 200})
      EXPECT_LE(relative_error(last_row(*model, n), file(std::to_string(n))), 1e-4)
          << n << " tokens, packed " << pack;
  }
}

TEST_F(DynamicRope, GradientsEqualAutograd) {  // of 64 tokens, more than the model was trained for
  GradientError e = gradient_error(*load_golden(g_, DType::f32, false), g_, 64);
  EXPECT_LE(e.worst, 1e-3) << e.name;
  EXPECT_LE(e.loss, 1e-5);
  e = gradient_error(*load_golden(g_, DType::f64, false), g_, 64);
  EXPECT_LE(e.worst, 1e-4) << e.name;
}

TEST_F(DynamicRope, TokenByTokenEqualsTheCacheOfTransformers) {
  auto model = load_golden(g_, DType::f32, true);
  const Tensor got = fed(*model, std::vector<int64_t>(201, 1)), want = file("by-token");
  int64_t checked = 0;
  for (; checked < want.dim(0); ++checked)
    EXPECT_LE(relative_error(got.narrow(0, g_.rows[static_cast<size_t>(checked)], 1), want.narrow(0, checked, 1)),
              1e-4)
        << "row " << g_.rows[static_cast<size_t>(checked)];
  EXPECT_EQ(g_.rows[static_cast<size_t>(checked) - 1], 200);
}

TEST_F(DynamicRope, AnySplitEqualsTokenByToken) {
  auto model = load_golden(g_, DType::f32, true);
  const Tensor steps = fed(*model, std::vector<int64_t>(120, 1));
  for (const std::vector<int64_t>& split : {std::vector<int64_t>{120}, {47, 1, 1, 71}, {60, 60}, {119, 1}})
    EXPECT_LE(relative_error(fed(*model, split), steps), 2e-5) << split.size() << " pieces";
}

// What cannot be equal: a cache keeps the frequencies that its rows were made with.
TEST_F(DynamicRope, OnePassAndCacheAgreeUpToTheContextOfTheTraining) {
  auto model = load_golden(g_, DType::f32, true);
  const Tensor cached = fed(*model, {64});
  EXPECT_LE(relative_error(cached.narrow(0, 0, 48), infer::all_logits(*model, ids(48))), 2e-5);
  EXPECT_GE(relative_error(cached.narrow(0, 63, 1), last_row(*model, 64)), 1e-3);
}

TEST_F(DynamicRope, DocumentsOfABatchHaveTheirOwnLengths) {
  auto model = load_golden(g_, DType::f32, true);
  std::vector<int32_t> both(ids(200).begin(), ids(200).end());
  both.insert(both.end(), ids(64).begin(), ids(64).end());
  grad::Tape tape(grad::Tape::inference);
  const Tensor got = model->logits(tape, model->hidden(tape, both, mixers::Batch::documents({200, 64}))).value;
  EXPECT_LE(relative_error(got.narrow(0, 199, 1), file("200")), 1e-4);
  EXPECT_LE(relative_error(got.narrow(0, 263, 1), file("64")), 1e-4);
}

TEST_F(DynamicRope, SessionsEndAtTheGrownContext) {
  auto model = load_golden(g_, DType::f32, true);
  EXPECT_EQ(model->max_positions(), 768);
  infer::Session session(*model);
  session.feed(g_.tokens);
  EXPECT_EQ(session.length(), 700);
  EXPECT_THROW(session.feed(ids(69)), Error);
}

}  // namespace
}  // namespace quern
