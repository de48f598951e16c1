// API keys with limits, over HTTP: who is let in, how often, and what is counted.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/serve/with_keys.h"

namespace quern {
namespace {

TEST_F(WithKeys, AKeyEndsTheThinkingOfItsOwnRequests) {
  script_ = {{"think", "<think>\n" + std::string(80'000, '.') + "\n</think>\n\nDone."}};
  start_with(
      "[[key]]\nname = \"one\"\nkey = \"sk-of-one\"\n[[key]]\nname = \"two\"\nkey = \"sk-of-two\"\n"
      "[[key]]\nname = \"boss\"\nkey = \"sk-of-boss\"\nadmin = true\n");
  RawClient c(port());
  const std::string body = R"({"messages": [{"role": "user", "content": "think"}], "stream": true})";
  ASSERT_TRUE(c.send(fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer sk-of-one\r\nconnection: close\r\n"
      "content-length: {}\r\n\r\n{}",
      body.size(), body)));
  const std::string seen = c.read_until("reasoning_content");
  const size_t at = seen.find("x-request-id: ") + 14;
  const std::string path = "/v1/requests/" + seen.substr(at, seen.find('\r', at) - at) + "/end_thinking";
  refused(http(port(), "POST", path, {}, "authorization: Bearer sk-of-two\r\n"), 404, "no running request");
  refused(http(port(), "POST", "/v1/requests/req-0/end_thinking", {}, "authorization: Bearer sk-of-boss\r\n"), 404,
          "req-0");
  EXPECT_EQ(ok(http(port(), "POST", path, {}, "authorization: Bearer sk-of-one\r\n")).at("ended"), Json(true));
  EXPECT_NE(c.read_all().find("\"finish_reason\":\"stop\""), std::string::npos);
}

TEST_F(WithKeys, RequestsPerMinuteAndTheirHeaders) {
  start_with("[[key]]\nname = \"ci\"\nkey = \"sk-of-ci-\"\nrequests_per_minute = 2\ntokens_per_minute = 10000\n");
  refused(post("/v1/chat/completions", kChat), 401, "invalid_api_key");
  refused(chat("sk-of-cj-"), 401, "invalid_api_key");
  const RawAnswer first = chat("sk-of-ci-");
  ok(first);
  EXPECT_EQ(header(first, "x-ratelimit-limit-requests"), "2");
  EXPECT_EQ(header(first, "x-ratelimit-remaining-requests"), "1");
  EXPECT_EQ(header(first, "x-ratelimit-remaining-tokens"), "10000");
  const RawAnswer second = chat("sk-of-ci-");
  EXPECT_LT(std::stoi(header(second, "x-ratelimit-remaining-tokens")), 10000);
  const RawAnswer third = chat("sk-of-ci-");
  refused(third, 429, "rate_limit_exceeded");
  EXPECT_NE(third.body.find("API key 'ci'"), std::string::npos) << third.body;
  EXPECT_EQ(third.body.find("sk-of"), std::string::npos);
  EXPECT_GE(std::stoi(header(third, "retry-after")), 25);
  EXPECT_EQ(get("/v1/models", "sk-of-ci-").status, 200) << "looking something up is no request";
}

TEST_F(WithKeys, ABudgetOfTokensIsSpent) {
  start_with("[[key]]\nname = \"ci\"\nkey = \"sk-of-ci-\"\ntokens_per_day = 10\n");
  const Json usage = ok(chat("sk-of-ci-")).at("usage");
  refused(chat("sk-of-ci-"), 429, "insufficient_quota");
  const Json mine = ok(get("/v1/usage", "sk-of-ci-")).at("data").as_array()[0];
  EXPECT_EQ(mine.at("today").at("prompt_tokens"), usage.at("prompt_tokens"));
  EXPECT_EQ(mine.at("today").at("completion_tokens"), usage.at("completion_tokens"));
  EXPECT_EQ(mine.at("today").at("refused").as_int(), 1);
  EXPECT_EQ(mine.at("tokens_left_today").as_int(), 0);
  EXPECT_EQ(mine.at("limits").at("tokens_per_day").as_int(), 10);
  const std::string metrics = get("/metrics", "sk-of-ci-").body;
  EXPECT_NE(metrics.find("quern_key_requests_total{key=\"ci\"} 1\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find(
                fmt::format("quern_key_prompt_tokens_total{{key=\"ci\"}} {}\n", usage.at("prompt_tokens").as_int())),
            std::string::npos);
}

TEST_F(WithKeys, OnlyAnAdminSeesOthers) {
  start_with(
      "[[key]]\nname = \"a\"\nkey = \"sk-of-aaa\"\n[[key]]\nname = \"root\"\nkey = \"sk-of-root\"\nadmin = true\n");
  EXPECT_EQ(ok(get("/v1/usage", "sk-of-aaa")).at("data").as_array().size(), 1u);
  EXPECT_EQ(ok(get("/v1/usage", "sk-of-root")).at("data").as_array().size(), 2u);
}

TEST_F(WithKeys, LengthsAndModelsAreThoseOfTheKey) {
  start_with(
      "[[key]]\nname = \"short\"\nkey = \"sk-of-short\"\nmax_tokens = 3\nmax_context = 60\n"
      "[[key]]\nname = \"other\"\nkey = \"sk-of-other\"\nmodels = [\"large\"]\n");
  const Json short_one = ok(chat("sk-of-short"));
  EXPECT_EQ(short_one.at("usage").at("completion_tokens").as_int(), 3);
  EXPECT_EQ(short_one.at("choices").as_array()[0].at("finish_reason").as_string(), "length");
  const std::string words(400, 'q');
  refused(chat("sk-of-short", R"({"messages": [{"role": "user", "content": ")" + words + R"("}]})"), 400,
          "context_length_exceeded");
  const char* key = "x-api-key: sk-of-short\r\n";
  ok(post("/v1/embeddings", R"({"input": "q"})", key));
  refused(post("/v1/embeddings", R"({"input": ["q", ")" + words + R"("]})", key), 400, "text 1 has");
  refused(chat("sk-of-other", R"({"model": "tiny", "messages": [{"role": "user", "content": "x"}]})"), 403,
          "model_not_allowed");
  refused(chat("sk-of-other"), 404, "model_not_found");  // the one that it may use is not here
  EXPECT_TRUE(ok(get("/v1/models", "sk-of-other")).at("data").as_array().empty());
  EXPECT_EQ(get("/v1/models/tiny", "sk-of-other").status, 403);
}

TEST_F(WithKeys, ModelsOfTheKeyHoldEverywhere) {
  start_with("[[key]]\nname = \"other\"\nkey = \"sk-of-other\"\nmodels = [\"large\"]\n");
  const char* key = "x-api-key: sk-of-other\r\n";
  for (const char* list : {"/api/tags", "/api/ps", "/props", "/v1/cache"})
    EXPECT_TRUE(ok(get(list, "sk-of-other")).at("models").as_array().empty()) << list;
  app_->configure({.aliases = {{"large", "tiny"}, {"small", "tiny"}}});
  for (const char* list : {"/api/tags", "/api/ps"}) {
    const Json models = ok(get(list, "sk-of-other"));
    ASSERT_EQ(models.at("models").as_array().size(), 1u) << list;
    EXPECT_EQ(models.at("models").as_array()[0].at("model").as_string(), "large:latest") << "the alias that it may name";
  }
  app_->configure({});
  EXPECT_EQ(get("/props?model=tiny", "sk-of-other").status, 403);
  for (const char* named : {R"({"model": "tiny:latest"})", R"({"name": "tiny"})"})
    EXPECT_EQ(post("/api/show", named, key).status, 403) << named;
  refused(post("/v1/sessions/one", "", key), 404, "large");
  refused(post("/v1/completions", R"({"prompt": "x", "lora": [{"id": "sql"}]})", key), 403, "model_not_allowed");
  refused(post("/v1/completions", R"({"prompt": "x", "lora": [{"id": 0}]})", key), 400, "lora");
  refused(post("/v1/unload_lora_adapter", R"({"lora_name": "sql"})", key), 403, "'other'");
}

// A name is a whole name: the part before a colon is another model's. Only the tag that Ollama gives to all may be dropped.
TEST_F(WithKeys, AModelOfTheKeyIsNoOtherOneWhoseNameBeginsSo) {
  more_models_ = {"qwen", "qwen:7b", "phi:latest"};
  start_with(
      "[[key]]\nname = \"small\"\nkey = \"sk-of-small\"\nmodels = [\"qwen\"]\n"
      "[[key]]\nname = \"large\"\nkey = \"sk-of-large\"\nmodels = [\"qwen:7b\", \"tiny:latest\", \"phi\"]\n");
  const auto status = [&](const char* key, const char* model, const char* path = "/v1/chat/completions") {
    return post(path,
                fmt::format(R"({{"model": "{}", "messages": [{{"role": "user", "content": "x"}}], "max_tokens": 2,
                  "options": {{"num_predict": 2}}, "stream": false}})",
                            model),
                fmt::format("x-api-key: {}\r\n", key).c_str())
        .status;
  };
  EXPECT_EQ(status("sk-of-small", "qwen"), 200);
  EXPECT_EQ(status("sk-of-small", "qwen:7b"), 403);
  EXPECT_EQ(status("sk-of-small", "qwen:7b:vote"), 403) << "the larger one with a plan";
  EXPECT_EQ(status("sk-of-small", "qwen:7b", "/api/chat"), 403);
  EXPECT_EQ(status("sk-of-small", "qwen:latest", "/api/chat"), 200);
  EXPECT_EQ(status("sk-of-large", "qwen"), 403);
  EXPECT_EQ(status("sk-of-large", "qwen:7b"), 200);
  EXPECT_EQ(status("sk-of-large", "qwen:7b:latest", "/api/chat"), 200);
  EXPECT_EQ(status("sk-of-large", "tiny"), 200);
  EXPECT_EQ(status("sk-of-large", "phi:latest"), 200);
  EXPECT_EQ(status("sk-of-large", "phi:latest", "/api/chat"), 200) << "the tag is of its very name";
  EXPECT_EQ(ok(get("/v1/models", "sk-of-small")).at("data").as_array().size(), 1u);
  EXPECT_EQ(ok(get("/v1/models", "sk-of-large")).at("data").as_array().size(), 3u);
  EXPECT_EQ(get("/v1/models/qwen:7b", "sk-of-small").status, 403);
}

TEST_F(WithKeys, MetricsOfOtherKeysAreForAdmins) {
  start_with(
      "[[key]]\nname = \"a\"\nkey = \"sk-of-aaa\"\n[[key]]\nname = \"b\"\nkey = \"sk-of-bbb\"\nmodels = [\"large\"]\n"
      "[[key]]\nname = \"root\"\nkey = \"sk-of-root\"\nadmin = true\n");
  ok(chat("sk-of-aaa"));
  const std::string mine = get("/metrics", "sk-of-aaa").body, others = get("/metrics", "sk-of-bbb").body,
                    all = get("/metrics", "sk-of-root").body;
  const std::string mark = "quern_key_requests_total{key=\"a\"} 1\n";
  EXPECT_NE(mine.find(mark), std::string::npos) << mine;
  EXPECT_EQ(mine.find("key=\"b\""), std::string::npos) << mine;
  EXPECT_EQ(others.find("key=\"a\""), std::string::npos) << others;
  EXPECT_EQ(others.find("\"tiny\""), std::string::npos) << "a model that it may not use\n" << others;
  EXPECT_NE(all.find(mark), std::string::npos) << all;
  EXPECT_NE(all.find("key=\"b\""), std::string::npos) << all;
}

TEST_F(WithKeys, ARunningRequestIsSteeredAlsoAtTheLimit) {
  start_with("[[key]]\nname = \"ci\"\nkey = \"sk-of-ci-\"\nconcurrent = 1\n");
  const char* key = "x-api-key: sk-of-ci-\r\n";
  RawClient c(port());
  const std::string body = R"({"prompt": "x", "max_tokens": 150000, "ignore_eos": true})";
  c.send(fmt::format("POST /v1/completions HTTP/1.1\r\n{}Content-Length: {}\r\n\r\n{}", key, body.size(), body));
  eventually("it runs", [&] { return model_->host->counts().running == 1; });
  const std::string id = ok(get("/slots", "sk-of-ci-")).as_array()[0].at("id").as_string();
  const std::string path = "/v1/requests/" + id + "/end_thinking";
  EXPECT_EQ(ok(post(path.c_str(), "", key)).at("id"), Json(id));
  app_->drain();
  EXPECT_EQ(post(path.c_str(), "", key).status, 200) << "also of a server that stops";
  refused(post(path.c_str(), ""), 401, "invalid_api_key");
  c.hang_up();
}

TEST_F(WithKeys, PlacesAreGivenBackAlsoByClientsThatHangUp) {
  start_with("[[key]]\nname = \"ci\"\nkey = \"sk-of-ci-\"\nconcurrent = 1\n");
  {
    RawClient c(port());
    const std::string body = R"({"prompt": "x", "max_tokens": 150000, "ignore_eos": true})";
    c.send(fmt::format("POST /v1/completions HTTP/1.1\r\nx-api-key: sk-of-ci-\r\nContent-Length: {}\r\n\r\n{}",
                       body.size(), body));
    eventually("it runs", [&] { return model_->host->counts().running == 1; });
    refused(chat("sk-of-ci-"), 429, "rate_limit_exceeded");
    const char* key = "Authorization: Bearer sk-of-ci-\r\n";  // ending a thinking takes no place
    refused(http(port(), "POST", "/v1/requests/req-0/end_thinking", {}, key), 404, "req-0");
    refused(http(port(), "POST", "/v1/requests/req-0/end_thinking"), 401, "invalid_api_key");
    c.hang_up();
  }
  eventually("its place is free", [&] { return chat("sk-of-ci-").status == 200; });
}

TEST_F(WithKeys, TheFileIsReadAgain) {
  start_with("[[key]]\nname = \"ci\"\nkey = \"sk-of-ci-\"\nrequests_per_minute = 1\n");
  ok(chat("sk-of-ci-"));
  refused(chat("sk-of-ci-"), 429, "rate_limit_exceeded");
  std::ofstream(file_) << "[[key]]\nname = \"ci\"\n";  // neither key nor sha256
  EXPECT_THROW(app_->reload_keys(), Error);
  refused(chat("sk-of-ci-"), 429, "rate_limit_exceeded");
  std::ofstream(file_) << "[[key]]\nname = \"ci\"\nkey = \"sk-new-one\"\nrequests_per_minute = 5\n";
  EXPECT_EQ(app_->reload_keys(), 1u);
  refused(chat("sk-of-ci-"), 401, "invalid_api_key");
  for (int i = 0; i < 4; ++i) ok(chat("sk-new-one"));
  refused(chat("sk-new-one"), 429, "rate_limit_exceeded");  // five, less the one before
}

// Four places and one user's thirty requests, then another's one: it does not wait for them all.
TEST_F(Serving, OneUsersManyRequestsDoNotStarveAnother) {
  start();
  const auto body = [](const char* user, int tokens) {
    return fmt::format(R"({{"prompt": "x", "max_tokens": {}, "ignore_eos": true, "user": "{}"}})", tokens, user);
  };
  std::vector<std::unique_ptr<RawClient>> many;
  for (int i = 0; i < 30; ++i) {
    const std::string b = body("many", 3000);
    many.push_back(std::make_unique<RawClient>(port()));
    many.back()->send(fmt::format("POST /v1/completions HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", b.size(), b));
  }
  eventually("all are there", [&] { return model_->host->counts().waiting == 26; });
  ok(post("/v1/completions", body("one", 5)));
  EXPECT_GE(model_->host->counts().waiting, 18) << "most of the others still wait";
}

TEST_F(Serving, APriorityIsReadAndChecked) {
  start();
  ok(post("/v1/completions", R"({"prompt": "x", "max_tokens": 2, "priority": -3})"));
  refused(post("/v1/completions", R"({"prompt": "x", "priority": "high"})"), 400, "priority");
  refused(post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "x"}], "priority": 1e9})"), 400,
          "priority");
}

TEST_F(Serving, AliasesAndOriginsChangeWhileItRuns) {
  start();
  const std::string asks =
      R"({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2})";
  refused(post("/v1/chat/completions", asks), 404, "model_not_found");
  app_->configure({.cors = {"https://page.example"}, .aliases = {{"gpt-4o-mini", "tiny"}}});
  ok(post("/v1/chat/completions", asks));
  EXPECT_EQ(ok(http(port(), "GET", "/v1/models")).at("data").as_array().size(), 2u);
  EXPECT_EQ(ok(http(port(), "GET", "/v1/models/gpt-4o-mini")).at("root").as_string(), "tiny");
  const RawAnswer a = http(port(), "OPTIONS", "/health", "", "Origin: https://page.example\r\n");
  EXPECT_NE(a.head.find("access-control-allow-origin: https://page.example"), std::string::npos) << a.head;
}

}  // namespace
}  // namespace quern
