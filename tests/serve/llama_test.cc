// llama-server's own endpoints, in the request forms that its documentation has.
#include <gtest/gtest.h>

#include "quern/serve/llama/infill.h"
#include "quern/serve/llama/llama_fields.h"
#include "quern/serve/wire/api_error.h"
#include "quern/text/tokenizer/bpe_train.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

// The events of a stream.
std::vector<Json> events_of(const std::string& body) {
  std::vector<Json> out;
  for (size_t at = 0; (at = body.find("data: ", at)) != body.npos; at += 6)
    out.push_back(Json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6)));
  return out;
}

TEST_F(Serving, LlamaCompletions) {
  start();
  const std::string ask = R"({"prompt": "What is the answer?", "n_predict": 9, "seed": 4, "return_tokens": true)";
  const Json j = ok(post("/completion", ask + "}"));
  EXPECT_EQ(j.at("tokens_predicted").as_int(), 9);
  EXPECT_EQ(j.at("tokens").as_array().size(), 9u);
  EXPECT_TRUE(j.at("stop").as_bool());
  EXPECT_EQ(j.at("stop_type").as_string(), "limit");
  EXPECT_EQ(j.at("prompt").as_string(), "What is the answer?");
  EXPECT_EQ(j.at("generation_settings").at("n_predict").as_int(), 9);
  EXPECT_EQ(j.at("generation_settings").at("seed").as_int(), 4);
  EXPECT_GT(j.at("timings").at("predicted_per_token_ms").as_double(), 0);
  const Json own = ok(post("/v1/completions", R"({"prompt": "What is the answer?", "max_tokens": 9, "seed": 4})"));
  EXPECT_EQ(own.at("choices").as_array()[0].at("text"), j.at("content"));
  // Token ids among texts are the same prompt.
  const auto ids = model_->tokenizer.encode("What is", {});
  Json mixed = Json::array(), body = Json::parse(ask + "}");
  for (int32_t id : ids) mixed.push(id);
  mixed.push(" the answer?");
  body.set("prompt", std::move(mixed));
  EXPECT_EQ(ok(post("/completions", body.dump())).at("prompt").as_string(), "What is the answer?");

  const std::vector<Json> events = events_of(post("/completion", ask + R"(, "stream": true})").body);
  std::string text;
  ASSERT_GT(events.size(), 2u);
  for (size_t i = 0; i < events.size(); ++i) {
    text += events[i].at("content").as_string();
    EXPECT_EQ(events[i].at("stop").as_bool(), i + 1 == events.size());
  }
  EXPECT_EQ(text, j.at("content").as_string());
  EXPECT_EQ(events.back().at("tokens_evaluated"), j.at("tokens_evaluated"));
}

TEST_F(Serving, LlamaCompletionFields) {
  start();
  const Json j = ok(post("/completion", R"({"prompt": "a", "n_predict": 3, "n_probs": 2, "temperature": 0})"));
  const Json::Array& list = j.at("completion_probabilities").as_array();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].at("top_logprobs").as_array().size(), 2u);
  EXPECT_EQ(list[0].at("id"), list[0].at("top_logprobs").as_array()[0].at("id"));  // greedy
  // A ban by text, and a choice by a constraint.
  const std::string first = list[0].at("token").as_string();
  Json ban = Json::parse(R"({"prompt": "a", "n_predict": 1, "n_probs": 1, "temperature": 0})");
  ban.set("logit_bias", Json(Json::Array{Json(Json::Array{list[0].at("id"), Json(false)})}));
  EXPECT_NE(ok(post("/completion", ban.dump())).at("completion_probabilities").as_array()[0].at("id"),
            list[0].at("id"));
  EXPECT_EQ(ok(post("/completion", R"({"prompt": "a", "n_predict": 40, "json_schema": {"const": 7}})"))
                .at("content")
                .as_string(),
            "7");
  EXPECT_EQ(ok(post("/completion", R"({"prompt": "a", "n_predict": 40, "grammar": "root ::= \"yes\""})"))
                .at("content")
                .as_string(),
            "yes");
  refused(post("/completion", R"({"prompt": "a", "mirostat": 2})"), 400, "mirostat: is not supported");
  refused(post("/completion", R"({"prompt": [["a"], "b"]})"), 400, "several prompts");
  refused(post("/completion", R"({"prompt": ["a", "b"]})"), 400, "several prompts");
  refused(post("/completion", R"({"prompt": [99999999]})"), 400, "token ids run from 0");
  refused(post("/completion", "{}"), 400, "prompt");
  refused(post("/infill", R"({"input_prefix": "a", "input_suffix": "b"})"), 400, "no fill-in-the-middle tokens");
}

TEST_F(Serving, LlamaEmbeddingsPropsAndSlots) {
  start();
  const Json list = ok(post("/embedding", R"({"content": ["What is", "the answer?"]})"));
  const Json own = ok(post("/v1/embeddings", R"({"input": ["What is", "the answer?"]})"));
  ASSERT_EQ(list.as_array().size(), 2u);
  EXPECT_EQ(list.as_array()[1].at("embedding").as_array()[0], own.at("data").as_array()[1].at("embedding"));
  EXPECT_EQ(ok(post("/embeddings", R"({"input": "What is"})")).as_array().size(), 1u);
  refused(post("/embedding", "{}"), 400, "content");
  const Json props = ok(http(port(), "GET", "/props"));
  EXPECT_EQ(props.at("total_slots").as_int(), 4);
  EXPECT_EQ(props.at("default_generation_settings").at("n_ctx").as_int(), 200000);
  EXPECT_EQ(props.at("model_alias").as_string(), "tiny");
  EXPECT_EQ(http(port(), "GET", "/props?model=nope").status, 404);
  EXPECT_EQ(ok(http(port(), "GET", "/slots?fail_on_no_slot=1")).as_array().size(), 0u);
  const Json t = ok(post("/tokenize", R"({"content": "What is", "with_pieces": true})"));
  std::string joined;
  for (const Json& one : t.at("tokens").as_array()) joined += one.at("piece").as_string();
  EXPECT_EQ(joined, "What is");
  const Json v =
      ok(post("/tokenize", R"({"messages": [{"role": "user", "content": "x"}], "return_token_strs": true})"));
  EXPECT_EQ(v.at("token_strs").as_array().size(), static_cast<size_t>(v.at("count").as_int()));
  EXPECT_EQ(v.at("max_model_len").as_int(), 200000);
}

TEST(Infill, OrdersTheParts) {
  text::BpeTrainOptions o;
  o.vocab_size = 320, o.special_tokens = {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>"};
  text::BpeTrainer t(o);
  t.add("int main() { return 0; }\n");
  auto m = tiny_model(4);
  m->tokenizer = text::Tokenizer::from_json(t.train());
  const auto tokens = serve::fill_tokens(m->tokenizer);
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->repo, -1);
  const auto text = [&](const serve::FillText& f) { return m->tokenizer.decode(serve::fill_prompt(*m, f)); };
  EXPECT_EQ(text({.prefix = "int ", .suffix = " }", .begun = "m"}),
            "<|fim_prefix|>int <|fim_suffix|> }<|fim_middle|>m");
  EXPECT_EQ(text({.prefix = "a", .suffix = "b", .others = {{"x.h", "int x;"}}}),
            "<|file_sep|>x.h\nint x;<|file_sep|>filename\n<|fim_prefix|>a<|fim_suffix|>b<|fim_middle|>");
  // What a client sends is text, also where it spells such a token.
  const auto ids = serve::fill_prompt(*m, {.prefix = "<|fim_middle|>", .suffix = ""});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), tokens->middle), 1);
  EXPECT_GE(serve::fill_stops(m->tokenizer).size(), 4u);
}

TEST(LlamaFields, AreRenamed) {
  const auto m = tiny_model(4);
  const auto own = [&](const char* body) { return serve::own_fields(Json::parse(body), m->tokenizer).dump(); };
  EXPECT_EQ(own(R"({"n_predict": 5, "repeat_penalty": 1.5})"), R"({"max_tokens":5,"repetition_penalty":1.5})");
  EXPECT_EQ(own(R"({"num_predict": -1, "seed": -1, "grammar": ""})"), "{}");
  EXPECT_EQ(own(R"({"logit_bias": [[7, 1.5], [8, false]]})"), R"({"logit_bias":{"7":1.5,"8":-100.0}})");
  EXPECT_EQ(own(R"({"logit_bias": false})"), "{}");
  EXPECT_EQ(own(R"({"max_tokens": -1, "n_predict": 3})"), R"({"max_tokens":3})");
  EXPECT_THROW(own(R"({"logit_bias": [[7]]})"), serve::ApiError);
  EXPECT_THROW(own(R"({"dynatemp_range": 0.5})"), serve::ApiError);
}

}  // namespace
}  // namespace quern
