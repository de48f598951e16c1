// Sampling settings on their way to a request: generation_config.json, the defaults it gives, the body's fields over
// them, and messages that name the field.
#include <gtest/gtest.h>

#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/serve/chat/chat_request.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr int64_t kVocabulary = 100;

class GenerationSettings : public testing::Test {
 protected:
  infer::GenerateOptions read(const std::string& body) {
    const Json j = Json::parse(body);
    return serve::read_generation(serve::Fields(j), defaults_, model_->tokenizer, kVocabulary);
  }
  infer::SamplingOptions sampling(const std::string& body) { return read(body).sampling; }
  // "FIELD: message", when the error names that field as its parameter.
  std::string refusal(const std::string& field, const std::string& value) {
    try {
      read("{\"" + field + "\": " + value + "}");
    } catch (const serve::ApiError& e) {
      EXPECT_EQ(e.param, field);
      return e.what();
    }
    return "";
  }
  std::unique_ptr<serve::ServedModel> model_ = tiny_model(1);
  models::GenerationConfig defaults_;
};

TEST_F(GenerationSettings, FieldsOfTheBodyWin) {
  defaults_ = {.do_sample = true,
               .sampling = {.temperature = 0.7, .top_k = 40, .top_p = 0.8, .min_p = 0.1, .repetition_penalty = 1.2},
               .eos_token_id = {2}};
  const infer::SamplingOptions model = sampling("{}");
  EXPECT_EQ(model.temperature, 0.7);
  EXPECT_EQ(model.top_k, 40);
  EXPECT_EQ(model.top_p, 0.8);
  EXPECT_EQ(model.min_p, 0.1);
  EXPECT_EQ(model.repetition_penalty, 1.2);
  const infer::SamplingOptions given = sampling(R"({"temperature": 0, "top_k": -1, "min_p": null, "seed": 5})");
  EXPECT_EQ(given.temperature, 0);
  EXPECT_EQ(given.top_k, 0) << "-1 is off";
  EXPECT_EQ(given.min_p, 0.1) << "null is not given";
  EXPECT_EQ(given.top_p, 0.8);
  EXPECT_EQ(given.seed, 5u);
  EXPECT_NE(sampling("{}").seed, sampling("{}").seed) << "random without a seed";
}

TEST_F(GenerationSettings, WithoutDoSampleTheModelGivesThePenaltyAlone) {
  defaults_.sampling = {.temperature = 0.7, .top_k = 40, .top_p = 0.8, .min_p = 0.1, .repetition_penalty = 1.2};
  const infer::SamplingOptions o = sampling("{}");
  EXPECT_EQ(o.temperature, 1);
  EXPECT_EQ(o.top_k, 0);
  EXPECT_EQ(o.top_p, 1);
  EXPECT_EQ(o.min_p, 0);
  EXPECT_EQ(o.repetition_penalty, 1.2);
}

TEST_F(GenerationSettings, EveryFieldIsRead) {
  const infer::GenerateOptions o =
      read(R"({"typical_p": 0.5, "xtc_probability": 0.25, "xtc_threshold": 0.2, "top_n_sigma": -1,
      "dry_multiplier": 2, "dry_base": 3, "dry_allowed_length": 4, "dry_penalty_last_n": 5,
      "dry_sequence_breakers": ["x"], "presence_penalty": -2, "frequency_penalty": 2, "logit_bias": {"7": -100},
      "samplers": ["top_k", "typ_p"], "stop": "end", "seed": -9, "max_tokens": 3, "top_logprobs": 4})");
  const infer::SamplingOptions& s = o.sampling;
  EXPECT_EQ(s.typical_p, 0.5);
  EXPECT_EQ(s.xtc_probability, 0.25);
  EXPECT_EQ(s.xtc_threshold, 0.2);
  EXPECT_EQ(s.top_n_sigma, -1);
  EXPECT_EQ(s.dry.multiplier, 2);
  EXPECT_EQ(s.dry.base, 3);
  EXPECT_EQ(s.dry.allowed_length, 4);
  EXPECT_EQ(s.dry.last_n, 5);
  EXPECT_EQ(s.dry.breakers, std::vector<std::string>{"x"});
  EXPECT_TRUE(s.dry.text != nullptr);
  EXPECT_EQ(s.presence_penalty, -2);
  EXPECT_EQ(s.frequency_penalty, 2);
  ASSERT_EQ(s.logit_bias.size(), 1u);
  EXPECT_EQ(s.logit_bias[0].token, 7);
  EXPECT_EQ(s.logit_bias[0].bias, -100);
  EXPECT_EQ(s.order, (std::vector<infer::SampleStep>{infer::SampleStep::top_k, infer::SampleStep::typical_p}));
  EXPECT_EQ(s.seed, static_cast<uint64_t>(-9));
  EXPECT_EQ(o.stop, std::vector<std::string>{"end"});
  EXPECT_EQ(o.max_tokens, infer::GenerateOptions().max_tokens)
      << "the interfaces read their token budgets themselves";
  EXPECT_EQ(o.top_logprobs, 0);
}

TEST_F(GenerationSettings, MistakesNameTheField) {
  EXPECT_EQ(refusal("temperature", "150"), "temperature: 150 is outside 0 to 100");
  EXPECT_EQ(refusal("temperature", "\"hot\""), "temperature: expected a number");
  EXPECT_EQ(refusal("top_p", "0"), "top_p: 0 is not above 0");
  EXPECT_EQ(refusal("top_p", "3"), "top_p: 3 is above 1");
  EXPECT_EQ(refusal("top_k", "1.5"), "top_k: expected a whole number");
  EXPECT_EQ(refusal("top_k", "-2"), "top_k: -2 is outside -1 to 2147483648");
  EXPECT_EQ(refusal("presence_penalty", "3"), "presence_penalty: 3 is outside -2 to 2");
  EXPECT_EQ(refusal("repetition_penalty", "0"), "repetition_penalty: 0 is outside 0.01 to 100");
  EXPECT_EQ(refusal("dry_base", "0.5"), "dry_base: 0.5 is outside 1 to 10000");
  EXPECT_EQ(refusal("logit_bias", R"({"100": 1})"), "logit_bias: '100' is no token id of this model (0 to 99)");
  EXPECT_EQ(refusal("logit_bias", R"({"1": 101})"), "logit_bias: expected numbers from -100 to 100");
  EXPECT_EQ(refusal("stop", R"([""])"), "stop: strings of 1 to 1024 bytes");
  EXPECT_EQ(refusal("stop", R"([1])"), "stop: expected a string or a list of strings");
  const std::string many =
      "[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]";
  EXPECT_EQ(refusal("stop", many), "stop: 17 strings, at most 16");
  EXPECT_EQ(refusal("dry_sequence_breakers", many), "") << "17 of at most 64";
}

TEST_F(GenerationSettings, AModelMayAnswerGreedily) {
  const auto temperature = [&](const std::string& more, const std::string& plan = {}) {
    const Json body = Json::parse(R"({"messages": [{"role": "user", "content": "?"}])" + more + "}");
    return serve::read_chat_request(*model_, body, plan).options.sampling.temperature;
  };
  EXPECT_EQ(temperature(""), 1);
  model_->defaults.greedy = true;
  EXPECT_EQ(temperature(R"(, "seed": 3, "presence_penalty": 1)"), 0);
  EXPECT_EQ(temperature(R"(, "temperature": 0.5)"), 0.5);
  EXPECT_EQ(temperature(R"(, "top_p": 0.9)"), 1) << "sampling is asked for";
  EXPECT_EQ(temperature(R"(, "n": 2)"), 1) << "several choices are to differ";
  EXPECT_EQ(temperature("", "vote:2"), 1) << "as are candidates";
}

TEST(GenerationConfigFile, KeepsWhatItMayHave) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "quern_generation_config";
  std::filesystem::create_directories(folder);
  const auto written = [&](const models::GenerationConfig& g) {
    models::save_generation_config(g, folder);
    return Json::read(folder / "generation_config.json").dump();
  };
  const infer::SamplingOptions sampling = {.temperature = 0.5, .top_k = 7, .top_p = 0.9, .seed = 3, .typical_p = 0.5};
  EXPECT_EQ(written({.do_sample = true, .sampling = sampling, .eos_token_id = {2}}),
            R"({"do_sample":true,"temperature":0.5,"top_p":0.9,"top_k":7,"min_p":0.0,"eos_token_id":2})");
  const models::GenerationConfig g = models::load_generation_config(folder);
  EXPECT_TRUE(g.do_sample);
  EXPECT_EQ(g.sampling.temperature, 0.5);
  EXPECT_EQ(g.sampling.top_p, 0.9);
  EXPECT_EQ(g.sampling.top_k, 7);
  EXPECT_EQ(written({.sampling = {.temperature = 0.5, .repetition_penalty = 1.5}, .eos_token_id = {2, 3}}),
            R"({"do_sample":false,"repetition_penalty":1.5,"eos_token_id":[2,3]})");
  EXPECT_TRUE(models::load_generation_config(folder).greedy);
  write_file(folder / "generation_config.json", R"({"temperature": 0.25, "seed": 4, "typical_p": 0.5, "top_k": -1})");
  const models::GenerationConfig read = models::load_generation_config(folder);
  EXPECT_EQ(read.sampling.temperature, 0.25);
  EXPECT_FALSE(read.greedy) << "the file is silent";
  EXPECT_EQ(read.sampling.top_k, -1) << "its range is checked when it is used";
  EXPECT_EQ(read.sampling.seed, 0u);
  EXPECT_EQ(read.sampling.typical_p, 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quern
