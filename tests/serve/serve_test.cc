// The server on a tiny random model, over real sockets: answers, streams, refusals.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <regex>

#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kChat =
    R"({"messages": [{"role": "user", "content": "What is the answer?"}], "max_tokens": 12, "seed": 3)";

std::string streamed_text(const std::string& body, const char* object) {
  std::string text;
  for (size_t at = 0; (at = body.find("data: {", at)) != body.npos; at += 6) {
    const Json j = Json::parse(body.substr(at + 6, body.find("\n\n", at) - at - 6));
    EXPECT_EQ(j.at("object").as_string(), object);
    for (const Json& c : j.at("choices").as_array()) {
      const Json* d = c.find("delta");
      if (const Json* t = d ? d->find("content") : c.find("text"); t && t->is_string()) text += t->as_string();
    }
  }
  return text;
}

TEST_F(Serving, ChatsWholeAndStreamedAlike) {
  start();
  const Json whole = ok(post("/v1/chat/completions", std::string(kChat) + "}"));
  const std::string text = whole.at("choices").as_array()[0].at("message").at("content").as_string();
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(whole.at("choices").as_array()[0].at("finish_reason").as_string(), "length");
  EXPECT_EQ(whole.at("usage").at("completion_tokens").as_int(), 12);
  EXPECT_EQ(whole.at("usage").at("total_tokens").as_int(), 12 + whole.at("usage").at("prompt_tokens").as_int());
  const RawAnswer a = post("/v1/chat/completions",
                           std::string(kChat) + R"(, "stream": true, "stream_options": {"include_usage": true}})");
  EXPECT_EQ(streamed_text(a.body, "chat.completion.chunk"), text);
  EXPECT_NE(a.head.find("text/event-stream"), a.head.npos);
  EXPECT_TRUE(a.body.ends_with("data: [DONE]\n\n"));
  EXPECT_NE(a.body.find(R"("completion_tokens":12)"), a.body.npos);
  // The prompt was seen before.
  EXPECT_GT(ok(post("/v1/chat/completions", std::string(kChat) + "}"))
                .at("usage")
                .at("prompt_tokens_details")
                .at("cached_tokens")
                .as_int(),
            0);
}

TEST_F(Serving, ThinkingIsSplitOff) {
  start();
  const Json j =
      ok(post("/v1/chat/completions", std::string(kChat) + R"(, "chat_template_kwargs": {"think": true}})"));
  const Json& m = j.at("choices").as_array()[0].at("message");
  EXPECT_EQ(m.at("content").as_string(), "");
  EXPECT_FALSE(m.at("reasoning_content").as_string().empty());
  EXPECT_GT(j.at("usage").at("completion_tokens_details").at("reasoning_tokens").as_int(), 0);
}

TEST_F(Serving, ReportsLogprobsOfEveryToken) {
  start();
  const Json j =
      ok(post("/v1/chat/completions", std::string(kChat) + R"(, "n": 2, "logprobs": true, "top_logprobs": 3})"));
  ASSERT_EQ(j.at("choices").as_array().size(), 2u);
  for (const Json& c : j.at("choices").as_array()) {
    const Json::Array& list = c.at("logprobs").at("content").as_array();
    ASSERT_EQ(list.size(), 12u);
    for (const Json& t : list) {
      EXPECT_LE(t.at("logprob").as_double(), 0);
      EXPECT_EQ(t.at("top_logprobs").as_array().size(), 3u);
    }
  }
}

TEST_F(Serving, CompletionsEchoTheirScores) {
  start();
  const char* text = "What is the answer? Answer: 4";
  const Json scored = ok(post(
      "/v1/completions", fmt::format(R"({{"prompt": "{}", "max_tokens": 0, "echo": true, "logprobs": 1}})", text)));
  const Json& c = scored.at("choices").as_array()[0];
  EXPECT_EQ(c.at("text").as_string(), text);
  const Json::Array& lp = c.at("logprobs").at("token_logprobs").as_array();
  EXPECT_TRUE(lp[0].is_null());
  std::string joined;
  for (const Json& t : c.at("logprobs").at("tokens").as_array()) joined += t.as_string();
  EXPECT_EQ(joined, text);
  // The same ids as token ids, one prompt of two: the same scores.
  std::vector<int32_t> ids = model_->tokenizer.encode(text, {});
  const Json two = ok(post(
      "/v1/completions",
      fmt::format(R"({{"prompt": [[{}], [5, 6]], "max_tokens": 1, "echo": true, "logprobs": 1, "temperature": 0}})",
                  fmt::join(ids, ","))));
  ASSERT_EQ(two.at("choices").as_array().size(), 2u);
  const Json::Array& again = two.at("choices").as_array()[0].at("logprobs").at("token_logprobs").as_array();
  ASSERT_EQ(again.size(), lp.size() + 1);
  for (size_t i = 1; i < lp.size(); ++i) EXPECT_NEAR(again[i].as_double(), lp[i].as_double(), 1e-4);
  EXPECT_EQ(two.at("usage").at("completion_tokens").as_int(), 2);
  const RawAnswer s = post("/v1/completions", R"({"prompt": "a", "max_tokens": 5, "stream": true, "seed": 1})");
  EXPECT_EQ(streamed_text(s.body, "text_completion"),
            ok(post("/v1/completions", R"({"prompt": "a", "max_tokens": 5, "seed": 1})"))
                .at("choices")
                .as_array()[0]
                .at("text")
                .as_string());
}

TEST_F(Serving, ThinksByAPlan) {
  start();
  const auto think = [&] {
    return ok(post("/v1/chat/completions",
                   R"({"model": "tiny:mrsa:4x2x1,beta=8,tau=4", "messages": [{"role": "user", "content": "x"}]})"));
  };
  const Json j = think();
  EXPECT_EQ(j.at("x_think").at("plan").as_string(), "mrsa:4x2x1");
  EXPECT_EQ(j.at("x_think").at("candidates").as_int(), 8);
  const Json again = think();
  const Json& asked = again.at("usage");
  const int64_t cached = asked.at("prompt_tokens_details").at("cached_tokens").as_int();
  EXPECT_GT(cached, 0) << "the same plan twice";
  EXPECT_LT(cached, asked.at("prompt_tokens").as_int());
  const RawAnswer s = post("/v1/chat/completions",
                           R"({"messages": [{"role": "user", "content": "x"}], "max_tokens": 8, "stream": true,
    "x_think": {"method": "vote", "n": 3}})");
  size_t events = 0;
  for (size_t at = 0; (at = s.body.find("\"x_think\":{\"round\"", at)) != s.body.npos; ++at) ++events;
  EXPECT_EQ(events, 3u) << s.body;
  refused(
      post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "x"}], "x_think": "mrsa:2x3x1"})"),
      400, "C = 3");
}

TEST_F(Serving, RepetitionsAreFollowedToTheirBreakers) {
  start();
  // How many stretches of three tokens come a second time in a greedy answer.
  auto again = [&](const std::string& fields) {
    const Json j =
        ok(post("/v1/completions",
                R"({"prompt": "What is the", "max_tokens": 120, "temperature": 0, "logprobs": 0)" + fields + "}"));
    std::vector<std::string> t;
    for (const Json& x : j.at("choices").as_array()[0].at("logprobs").at("tokens").as_array())
      t.push_back(x.as_string());
    std::map<std::string, int> seen;
    int more = 0;
    for (size_t i = 0; i + 2 < t.size(); ++i) more += seen[t[i] + "|" + t[i + 1] + "|" + t[i + 2]]++ > 0;
    return more;
  };
  const int plain = again("");
  ASSERT_GT(plain, 10) << "a random model that does not repeat itself shows nothing here";
  EXPECT_LT(again(R"(, "dry_multiplier": 1000, "dry_sequence_breakers": [])"), plain / 2)
      << "the rest are tokens of which the text is the same";
  EXPECT_EQ(again(R"(, "dry_multiplier": 1000, "samplers": ["top_k"])"), plain);
  EXPECT_EQ(again(R"(, "dry_multiplier": 1000, "dry_penalty_last_n": 0)"), plain);
}

TEST_F(Serving, SamplersAreThoseOfTheRequest) {
  start();
  auto answer = [&](const std::string& fields) {
    return ok(post("/v1/completions", R"({"prompt": "a", "max_tokens": 20, "seed": 5)" + fields + "}"))
        .at("choices")
        .as_array()[0]
        .at("text")
        .as_string();
  };
  const std::string greedy = answer(R"(, "temperature": 0)"), free = answer("");
  EXPECT_NE(greedy, free);
  EXPECT_EQ(answer(R"(, "top_k": 1)"), greedy);
  EXPECT_EQ(answer(R"(, "top_k": 1, "samplers": ["temperature"])"), free);
  EXPECT_EQ(answer(R"(, "top_n_sigma": 1e-6)"), greedy);
  EXPECT_EQ(answer(R"(, "top_n_sigma": -1, "typical_p": 1, "samplers": ["typ_p", "top_n_sigma"])"), free);
}

TEST_F(Serving, AnswersUnderAConstraint) {
  start();
  model_->defaults.eos_token_id = {model_->tokenizer.token_to_id("</s>")};
  const char* path = "/v1/chat/completions";
  const std::string head = R"({"messages": [{"role": "user", "content": "?"}], "max_tokens": 400, "seed": )";
  auto message = [&](const std::string& fields, int seed) {
    const Json j = ok(post(path, fmt::format("{}{}, {}}}", head, seed, fields)));
    const Json& choice = j.at("choices").as_array()[0];
    EXPECT_EQ(choice.at("finish_reason").as_string(), "stop") << choice.dump();
    return choice.at("message");
  };
  const std::string schema =
      R"({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3, "maximum": 40}, "k": {"enum": ["a",
      "b"]}, "l": {"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}}, "required": ["n", "k",
      "l"], "additionalProperties": false})";
  const std::string format =
      R"("response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": )" + schema + "}}";
  for (int seed = 0; seed < 6; ++seed) {
    const std::string text = message(format, seed).at("content").as_string();
    const Json v = Json::parse(text);
    EXPECT_TRUE(v.at("n").as_int() >= 3 && v.at("n").as_int() <= 40) << text;
    EXPECT_TRUE(v.at("k") == Json("a") || v.at("k") == Json("b")) << text;
    EXPECT_TRUE(v.at("l").as_array().size() >= 1 && v.at("l").as_array()[0].is_bool()) << text;
  }
  const std::string number = message(R"("regex": "-?[1-9]\\d{2,4}")", 1).at("content").as_string();
  EXPECT_TRUE(std::regex_match(number, std::regex("-?[1-9][0-9]{2,4}"))) << number;
  const std::string word =
      message(R"("grammar": "root ::= w \" \" w\nw ::= \"yes\" | \"no\"")", 2).at("content").as_string();
  EXPECT_TRUE(std::regex_match(word, std::regex("(yes|no) (yes|no)"))) << word;
  const std::string either =
      message(R"("structured_outputs": {"choice": ["a.b", "c|d"]})", 2).at("content").as_string();
  EXPECT_TRUE(either == "a.b" || either == "c|d") << either;

  // A random model never closes its thinking, and nothing else may end it.
  const Json j = ok(post(path, head + R"(3, "chat_template_kwargs": {"think": true}, "regex": "[0-9]{4}",
                                          "max_completion_tokens": 60})"));
  EXPECT_EQ(j.at("choices").as_array()[0].at("finish_reason").as_string(), "length")
      << "nothing ends the thinking early";

  const Json whole =
      ok(post("/v1/completions", R"({"prompt": "x", "max_tokens": 50, "seed": 1, "regex": "[ab]{3}"})"));
  EXPECT_TRUE(std::regex_match(whole.at("choices").as_array()[0].at("text").as_string(), std::regex("[ab]{3}")));

  refused(post(path, head + R"(1, "response_format": {"type": "json_schema"}})"), 400,
          "json_schema.schema is missing");
  refused(post(path, head + R"(1, "regex": "a(", "seed": 1})"), 400, "never closed");
  refused(post(path, head + R"(1, "grammar": "root ::= x"})"), 400, "line 1 column 10");
  refused(post(path, head + R"(1, "grammar": "root ::= root"})"), 400, "can never end");
  refused(post(path, head + R"(1, "regex": "a", "grammar": "root ::= \"a\""})"), 400, "constrained twice");
  refused(post(path, head + R"(1, "regex": "a", "x_think": "vote:2"})"), 400, "x_think");
  refused(post(path, head + R"(1, "structured_outputs": {"xml": 1}})"), 400, "xml");
}

TEST_F(Serving, RefusesWhatItCannotDo) {
  start();
  const char* path = "/v1/chat/completions";
  refused(post(path, "{"), 400, "JSON");
  refused(post(path, "[]"), 400, "object");
  refused(post(path, "{}"), 400, "messages");
  refused(post(path, R"({"messages": [{"role": "usr", "content": "x"}]})"), 400, "messages[0].role");
  refused(post(path, R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})"), 400, "image_url");
  refused(post(path, std::string(kChat) + R"(, "temperature": "hot"})"), 400, "temperature");
  refused(post(path, std::string(kChat) + R"(, "top_p": 3})"), 400, "top_p");
  refused(post(path, std::string(kChat) + R"(, "samplers": ["top_k", "heat"]})"), 400, "penalties, dry, temperature");
  refused(post(path, std::string(kChat) + R"(, "samplers": ["top_k", "top_k"]})"), 400, "twice");
  refused(post(path, std::string(kChat) + R"(, "samplers": 3})"), 400, "samplers");
  refused(post(path, std::string(kChat) + R"(, "dry_base": 0.5})"), 400, "dry_base");
  refused(post(path, std::string(kChat) + R"(, "dry_sequence_breakers": [""]})"), 400, "dry_sequence_breakers");
  refused(post(path, std::string(kChat) + R"(, "logit_bias": {"99999": 1}})"), 400, "logit_bias");
  refused(post(path, std::string(kChat) + R"(, "tools": [{"type": "function"}]})"), 400, "tools[0]");
  refused(post(path, std::string(kChat) + R"(, "modalities": ["audio"]})"), 400, "unsupported_parameter");
  refused(post(path, std::string(kChat) + R"(, "response_format": {"type": "yaml"}})"), 400, "response_format");
  refused(post(path, std::string(kChat) + R"(, "model": "tinny"})"), 404, "did you mean");
  refused(post(path, R"({"messages": [{"role": "user", "content": "x"}], "max_tokens": 200000})"), 400,
          "context_length_exceeded");
  refused(post("/v1/completions", R"({"prompt": "a", "suffix": "b"})"), 400, "suffix");
  refused(post("/v1/completions", R"({"prompt": [[1, 99999]]})"), 400, "token ids");
  refused(post("/nowhere", "{}"), 404, "/nowhere");
  refused(http(port(), "GET", path), 405, "POST");
  EXPECT_EQ(ok(post(path, std::string(kChat) + "}")).at("object").as_string(), "chat.completion")
      << "and it still serves";
}

TEST_F(Serving, KeysAndOriginsAreChecked) {
  serve::AppOptions options;
  options.api_keys = {"secret-1", "secret-2"}, options.live.cors = {"http://page", "http://other"};
  start(options);
  refused(http(port(), "GET", "/v1/models"), 401, "invalid_api_key");
  refused(http(port(), "GET", "/v1/models"), 401, "an API key is required");
  refused(http(port(), "GET", "/v1/models", "", "Authorization: Bearer \r\n"), 401, "an API key is required");
  for (const char* wrong : {"Authorization: Bearer secret-3\r\n", "x-api-key: secret-3\r\n"}) {
    const RawAnswer answer = http(port(), "GET", "/v1/models", "", wrong);
    refused(answer, 401, "the API key is wrong");
    EXPECT_EQ((answer.head + answer.body).find("secret"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(http(port(), "GET", "/v1/models", "", "Authorization: Bearer secret-2\r\n").status, 200);
  EXPECT_EQ(http(port(), "GET", "/v1/models/tiny", "", "x-api-key: secret-1\r\n").status, 200);
  EXPECT_EQ(http(port(), "GET", "/health").status, 200) << "health needs no key";
  EXPECT_TRUE(Json::parse(http(port(), "GET", "/version").body).at("version").is_string());
  const RawAnswer preflight =
      http(port(), "OPTIONS", "/v1/models", "",
           "Origin: http://page\r\nAccess-Control-Request-Headers: authorization, x-stainless-os\r\n");
  EXPECT_EQ(preflight.status, 204);
  EXPECT_NE(preflight.head.find("access-control-allow-headers: authorization, x-stainless-os"), preflight.head.npos)
      << preflight.head;
  EXPECT_NE(preflight.head.find("access-control-allow-origin: http://page\r\n"), preflight.head.npos);
  EXPECT_NE(preflight.head.find("vary: origin"), preflight.head.npos);
  EXPECT_EQ(http(port(), "GET", "/health", "", "Origin: http://elsewhere\r\n").head.find("allow-origin"),
            std::string::npos);
}

TEST_F(Serving, ShowsThePageToAnybody) {
  serve::AppOptions options;
  options.api_keys = {"secret"};
  start(options);
  const RawAnswer r = http(server_->port(), "GET", "/");
  EXPECT_EQ(r.status, 200);
  EXPECT_TRUE(r.body.starts_with("<!doctype html>")) << r.body.substr(0, 60);
  EXPECT_TRUE(r.body.ends_with("</html>\n"));
  EXPECT_NE(r.head.find("text/html; charset=utf-8"), std::string::npos);
  EXPECT_NE(r.head.find("default-src 'none'"), std::string::npos);
}

TEST_F(Serving, ChatsCanBeRememberedAndTellWhatTheyRecalled) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("quern_serve_{}.db", ::getpid());
  std::filesystem::remove(file);
  serve::AppOptions options;
  options.grounding.memory = file.string();
  start(options);
  auto chat = [&](const std::string& question, const std::string& rest) {
    return http(server_->port(), "POST", "/v1/chat/completions",
                R"({"max_tokens": 4, "messages": [{"role": "user", "content": ")" + question + "\"}]" + rest + "}");
  };
  EXPECT_TRUE(Json::parse(http(server_->port(), "GET", "/props").body).at("memory").as_bool());
  RawAnswer r = chat("My cat is called Wheat.", R"(, "x_memory": true)");
  ASSERT_EQ(r.status, 200) << r.body;
  EXPECT_EQ(Json::parse(r.body).at("x_memory").at("responses").as_array().size(), 0u);
  const int64_t plain = Json::parse(chat("What is my cat called?", "").body).at("usage").at("prompt_tokens").as_int();
  r = chat("What is my cat called?", R"(, "x_memory": {"keep": false})");
  const Json told = Json::parse(r.body);
  EXPECT_EQ(told.at("x_memory").at("responses").as_array()[0].at("text").as_string(), "My cat is called Wheat.");
  EXPECT_GT(told.at("usage").at("prompt_tokens").as_int(), plain);
  r = chat("What is my cat called?", R"(, "x_memory": {"keep": false}, "stream": true)");
  EXPECT_LT(r.body.find("\"x_memory\""), r.body.find("\"content\"")) << r.body;
  EXPECT_EQ(chat("x", R"(, "x_documents": true)").status, 400);
  // The other forms of a chat draw on the same memory, and add to it.
  const std::string asked = R"({"role": "user", "content": "What is my dog called?"})";
  auto found = [](const Json& answer) {
    std::string all;
    for (const Json& one : answer.at("x_memory").at("responses").as_array()) all += one.at("text").as_string() + "|";
    return all;
  };
  const Json message = ok(post("/v1/messages", R"({"max_tokens": 4, "x_memory": true, "messages": [{"role": "user",
    "content": [{"type": "text", "text": "My dog is called Rye."}]}]})"));
  EXPECT_EQ(message.at("type").as_string(), "message");
  const Json response = ok(post("/v1/responses", R"({"max_output_tokens": 4, "input": "What is my dog called?",
    "x_memory": {"keep": false}})"));
  EXPECT_NE(found(response).find("My dog is called Rye.|"), std::string::npos) << found(response);
  const RawAnswer streamed = post("/v1/messages", R"({"max_tokens": 4, "stream": true, "x_memory": {"keep": false},
    "messages": [)" + asked + "]}");
  EXPECT_NE(streamed.body.find("My dog is called Rye."), std::string::npos) << streamed.body;
  refused(post("/v1/responses", R"({"input": "x", "x_documents": true})"), 400, "this server has no documents");
  for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(file.string() + suffix);
}

TEST_F(Serving, TokensTemplatesAndMetrics) {
  start();
  const Json t = ok(post("/tokenize", R"({"content": "What is the answer?", "with_pieces": true})"));
  EXPECT_EQ(t.at("pieces").as_array().size(), static_cast<size_t>(t.at("count").as_int()));
  Json back = Json::object();
  back.set("tokens", t.at("tokens"));
  EXPECT_EQ(ok(post("/detokenize", back.dump())).at("content").as_string(), "What is the answer?");
  EXPECT_EQ(
      ok(post(
             "/apply-template",
             R"({"messages": [{"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]})"))
          .at("prompt")
          .as_string(),
      "<s>system: ab\n<s>assistant: ");
  ok(post("/v1/completions", R"({"prompt": "a", "max_tokens": 3})"));
  const std::string m = http(port(), "GET", "/metrics").body;
  EXPECT_NE(m.find("quern_generated_tokens_total{model=\"tiny\"} 3\n"), m.npos) << m;
  EXPECT_NE(m.find("quern_http_responses_total{path=\"/tokenize\",status=\"200\"} 1\n"), m.npos) << m;
  EXPECT_EQ(Json::parse(http(port(), "GET", "/props").body).at("models").as_array().size(), 1u);
}

}  // namespace
}  // namespace quern
