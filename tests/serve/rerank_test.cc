// Documents in the order in which they answer a query.
#include "quern/serve/api/rerank_api.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kBody = R"({"query": "Where does the miller live?",
  "documents": ["Bread is baked from flour.", {"text": "The miller lives by the river."}, "Rivers run to the sea.",
                "The baker lives in town."])";

class Rerank : public Serving {};

TEST(WordScores, AreSharesOfTheQuerysWeight) {
  // "mill" stands in one of two documents, "sea" in the other, "gold" in none: idf ln 2, ln 2 and ln 6.
  const auto s = serve::word_scores("mill sea gold", {"mill mill mill mill mill mill mill mill", "sea", ""});
  const double n = 3, idf = std::log(1 + (n - 0.5) / 1.5), rare = std::log(1 + (n + 0.5) / 0.5), all = 2 * idf + rare;
  // Eight times in eight words, of 9 words in 3 documents: f / (f + k1 (1 − b + b |d| / mean)).
  EXPECT_NEAR(s[0], idf / all * 8 / (8 + 0.9 * (0.6 + 0.4 * 8 / 3)), 1e-6);
  EXPECT_NEAR(s[1], idf / all * 1 / (1 + 0.9 * (0.6 + 0.4 * 1 / 3)), 1e-6);
  EXPECT_EQ(s[2], 0);
  EXPECT_EQ(serve::word_scores("", {"a", "b"}), (std::vector<double>{0, 0}));
}

TEST_F(Rerank, AsJinaAndCohereAskForIt) {
  start();
  for (const char* path : {"/v1/rerank", "/rerank", "/v2/rerank"}) {
    const Json j = ok(post(path, std::string(kBody) + R"(, "top_n": 3, "model": "tiny"})"));
    EXPECT_EQ(j.at("model").as_string(), "tiny");
    const Json::Array& r = j.at("results").as_array();
    ASSERT_EQ(r.size(), 3u);
    EXPECT_EQ(r[0].at("index").as_int(), 1);
    EXPECT_EQ(r[1].at("index").as_int(), 3);  // it lives, too
    for (size_t i = 0; i < r.size(); ++i) {
      const double s = r[i].at("relevance_score").as_double();
      EXPECT_TRUE(s >= 0 && s <= 1) << s;
      EXPECT_LE(s, i > 0 ? r[i - 1].at("relevance_score").as_double() : 1);
    }
    EXPECT_EQ(r[0].find("document") != nullptr, std::string_view(path) != "/v2/rerank");
  }
  const Json with = ok(post("/v2/rerank", std::string(kBody) + R"(, "return_documents": true})"));
  ASSERT_EQ(with.at("results").as_array().size(), 4u);
  EXPECT_EQ(with.at("results").as_array()[0].at("document").at("text").as_string(), "The miller lives by the river.");
  EXPECT_EQ(with.at("usage").at("total_tokens").as_int(), 0);
}

TEST_F(Rerank, ByMeaningIsTheCosineOfTheEmbeddings) {
  start();
  const Json e = ok(post("/v1/embeddings", R"({"input": ["What is the answer?", "user: 4", "answer"]})"));
  auto vector = [&](size_t i) {
    std::vector<double> v;
    for (const Json& x : e.at("data").as_array()[i].at("embedding").as_array()) v.push_back(x.as_double());
    return v;
  };
  auto cosine = [&](size_t i) {
    double sum = 0;
    for (size_t k = 0; k < vector(0).size(); ++k) sum += vector(0)[k] * vector(i)[k];
    return sum;
  };
  const char* pairs = R"({"text_1": "What is the answer?", "text_2": ["user: 4", "answer"], "x_score": "meaning"})";
  const Json s = ok(post("/v1/score", pairs));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(s.at("data").as_array()[i].at("index").as_int(), static_cast<int64_t>(i));
    EXPECT_NEAR(s.at("data").as_array()[i].at("score").as_double(), cosine(i + 1), 1e-5);
  }
  EXPECT_EQ(s.at("usage").at("total_tokens").as_int(), e.at("usage").at("total_tokens").as_int());
  // Stretched over the documents and averaged with the words.
  const char* both = R"({"query": "What is the answer?", "documents": ["user: 4", "answer"], "x_score": "both"})";
  const Json::Array r = ok(post("/v1/rerank", both)).at("results").as_array();
  const auto words = serve::word_scores("What is the answer?", {"user: 4", "answer"});
  for (const Json& x : r) {
    const auto i = static_cast<size_t>(x.at("index").as_int());
    const double meaning = cosine(i + 1) > cosine(2 - i) ? 1 : 0;
    EXPECT_NEAR(x.at("relevance_score").as_double(), (words[i] + meaning) / 2, 1e-5);
  }
}

TEST_F(Rerank, PairsGoOneByOne) {
  start();
  const Json s = ok(post("/score", R"({"text_1": ["mill", "sea"], "text_2": ["the mill", "the mill"]})"));
  EXPECT_GT(s.at("data").as_array()[0].at("score").as_double(), 0);
  EXPECT_EQ(s.at("data").as_array()[1].at("score").as_double(), 0);
}

TEST_F(Rerank, RefusesWhatItCannotRead) {
  start();
  refused(post("/v1/rerank", R"({"documents": ["a"]})"), 400, "query");
  refused(post("/v1/rerank", R"({"query": "a", "documents": []})"), 400, "documents");
  refused(post("/v1/rerank", R"({"query": "a", "documents": ["b", 3]})"), 400, "number 1");
  refused(post("/v1/rerank", R"({"query": "a", "documents": ["b"], "top_n": 0})"), 400, "top_n");
  refused(post("/v1/rerank", R"({"query": "a", "documents": ["b"], "x_score": "luck"})"), 400,
          "words, meaning, both or model");
  refused(post("/v1/rerank", R"({"query": "a", "documents": ["b"], "model": "bge"})"), 404, "model_not_found");
  refused(post("/v1/score", R"({"text_1": ["a", "b"], "text_2": ["c"]})"), 400, "text_1");
  std::string many = R"(["a")";  // more than are read by the model at once, as pairs and against one
  for (int i = 0; i < 2048; ++i) many += R"(,"a")";
  many += "]";
  for (const std::string& left : {many, std::string(R"("a")")})
    refused(post("/v1/score", fmt::format(R"({{"text_1": {}, "text_2": {}, "x_score": "meaning"}})", left, many)),
            400, "text_2");
  refused(post("/v1/score", R"({"text_1": ["a", "b"], "text_2": ["c", "d"], "x_score": "both"})"), 400, "x_score");
}

}  // namespace
}  // namespace quern
