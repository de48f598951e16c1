// Encoder folders behind the server: embeddings, reranking by vectors and by a head, and what they do not serve.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/encoders/text_encoder.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

const std::filesystem::path kData = std::filesystem::path(QUERN_SOURCE_DIR) / "quern/encoders/testdata";

class EncoderServing : public Serving {
 protected:
  void start_with(const std::vector<const char*>& names) {
    std::vector<std::unique_ptr<serve::ServedModel>> models;
    for (const char* name : names) {
      auto text = encoders::TextEncoder::load(kData / name);
      text::Tokenizer tokenizer = text.tokenizer();
      models.emplace_back(new serve::ServedModel{.id = name,
                                                 .model = nullptr,
                                                 .tokenizer = std::move(tokenizer),
                                                 .chat_template = {},
                                                 .defaults = {},
                                                 .host = nullptr,
                                                 .created = 7});
      models.back()->encoder.reset(new serve::ServedEncoder{.text = std::move(text)});
    }
    models.push_back(tiny_model(8));
    serve::AppOptions options;
    options.log = false;
    app_ = std::make_unique<serve::App>(std::move(models), options);
    serve::HttpServerOptions http_options;
    http_options.port = 0;
    server_ = std::make_unique<serve::HttpServer>(http_options, [this](serve::Exchange& e) { app_->handle(e); });
    thread_ = std::jthread([this] { server_->run(); });
  }
};

TEST_F(EncoderServing, Embeds) {
  start_with({"bert-mean"});
  const std::vector<std::string> texts{"The mill grinds the grain.", "naïve"};
  const encoders::EncoderResult want = encoders::TextEncoder::load(kData / "bert-mean").embed(texts);
  const Json j =
      ok(post("/v1/embeddings", R"({"model": "bert-mean", "input": ["The mill grinds the grain.", "naïve"]})"));
  ASSERT_EQ(j.at("data").as_array().size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const Json::Array& v = j.at("data").as_array()[i].at("embedding").as_array();
    ASSERT_EQ(v.size(), 32u);
    for (size_t k = 0; k < v.size(); ++k)
      EXPECT_NEAR(v[k].as_double(), want.rows.item(static_cast<int64_t>(i * 32 + k)), 1e-5);
  }
  EXPECT_EQ(j.at("usage").at("prompt_tokens").as_int(), want.tokens);
  std::string words;
  for (int i = 0; i < 300; ++i) words += "mill ";
  refused(post("/v1/embeddings", R"({"model": "bert-mean", "input": ")" + words + R"("})"), 400, "128 tokens");
  refused(post("/v1/embeddings", R"({"model": "bert-mean", "input": [999999]})"), 400,
          "token ids run from 0 to 1199");
}

TEST_F(EncoderServing, RanksByVectorsAndByAHead) {
  start_with({"bert-mean", "bert-rerank", "deberta-v3"});
  const auto body = [](const char* model, const char* more = "") {
    return fmt::format(R"({{"model": "{}", "query": "the grain", "documents": ["river", "the grain", "oven"]{}}})",
                       model, more);
  };
  const Json by_vectors = ok(post("/v1/rerank", body("bert-mean")));
  EXPECT_EQ(by_vectors.at("results").as_array()[0].at("index").as_int(), 1);
  EXPECT_NEAR(by_vectors.at("results").as_array()[0].at("relevance_score").as_double(), 1, 1e-5);
  const encoders::TextEncoder reranker = encoders::TextEncoder::load(kData / "bert-rerank");
  const encoders::TextEncoder::Pair pairs[] = {
      {"the grain", "river"}, {"the grain", "the grain"}, {"the grain", "oven"}};
  const Tensor want = reranker.score_pairs(pairs).rows;
  const Json by_head = ok(post("/v1/rerank", body("bert-rerank")));
  for (const Json& r : by_head.at("results").as_array())
    EXPECT_NEAR(r.at("relevance_score").as_double(), want.item(r.at("index").as_int()), 1e-5);
  ok(post("/v1/rerank", body("bert-rerank", R"(, "x_score": "words")")));
  refused(post("/v1/rerank", body("deberta-v3", R"(, "x_score": "model")")), 400, "not a reranker");
  refused(post("/v1/rerank", body("tiny", R"(, "x_score": "model")")), 400, "not a reranker");
  const Json pair = ok(post("/v1/score", R"({"model": "bert-rerank", "text_1": "the grain", "text_2": "river"})"));
  EXPECT_NEAR(pair.at("data").as_array()[0].at("score").as_double(), want.item(0), 1e-5);
}

TEST_F(EncoderServing, GeneratesNothing) {
  start_with({"bert-mean"});
  const char* chat = R"({"model": "bert-mean", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 4})";
  for (const char* path : {"/v1/chat/completions", "/v1/messages", "/apply-template"})
    refused(post(path, chat), 400, "is an encoder");
  refused(post("/v1/completions", R"({"model": "bert-mean", "prompt": "hi"})"), 400, "is an encoder");
  for (const char* path : {"/v1/models", "/props", "/metrics", "/slots"})
    EXPECT_EQ(http(port(), "GET", path, "").status, 200) << path;
  const Json t = ok(post("/tokenize", R"({"model": "bert-mean", "content": "the mill"})"));
  EXPECT_FALSE(t.at("tokens").as_array().empty());
}

}  // namespace
}  // namespace quern
