// Ollama's endpoints: lines of JSON, durations, tools, thinking, formats, refusals.
#include <gtest/gtest.h>

#include "quern/serve/ollama/ollama_request.h"
#include "quern/serve/wire/api_error.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kAsk =
    R"({"model": "tiny:latest", "messages": [{"role": "user", "content": "What is the answer?"}])";

std::vector<Json> lines_of(const std::string& body) {
  std::vector<Json> out;
  for (size_t at = 0; at < body.size();) {
    const size_t end = std::min(body.find('\n', at), body.size());
    out.push_back(Json::parse(body.substr(at, end - at)));
    at = end + 1;
  }
  return out;
}

void says(const RawAnswer& a, int status, const std::string& word) {
  EXPECT_EQ(a.status, status) << a.body;
  EXPECT_NE(Json::parse(a.body).at("error").as_string().find(word), std::string::npos) << a.body;
}

TEST_F(Serving, OllamaChats) {
  start();
  const std::string options = R"(, "options": {"num_predict": 9, "seed": 3, "num_ctx": 4096, "num_thread": 1})";
  const Json whole = ok(post("/api/chat", kAsk + options + R"(, "stream": false})"));
  const std::string text = whole.at("message").at("content").as_string();
  EXPECT_EQ(whole.at("model").as_string(), "tiny:latest");
  EXPECT_EQ(whole.at("done_reason").as_string(), "length");
  EXPECT_EQ(whole.at("eval_count").as_int(), 9);
  EXPECT_GT(whole.at("eval_duration").as_int(), 0);
  EXPECT_GE(whole.at("total_duration").as_int(), whole.at("eval_duration").as_int());
  const Json own = ok(post("/v1/chat/completions",
                           R"({"messages": [{"role": "user", "content": "What is the answer?"}], "max_tokens": 9,
      "seed": 3})"));
  EXPECT_EQ(own.at("choices").as_array()[0].at("message").at("content").as_string(), text);
  // A stream is the default.
  const RawAnswer a = post("/api/chat", kAsk + options + "}");
  EXPECT_NE(a.head.find("application/x-ndjson"), a.head.npos) << a.head;
  const std::vector<Json> lines = lines_of(a.body);
  std::string streamed;
  for (const Json& line : lines) {
    streamed += line.at("message").at("content").as_string();
    EXPECT_EQ(line.at("done").as_bool(), &line == &lines.back());
  }
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(lines.back().at("eval_count").as_int(), 9);
}

TEST_F(Serving, OllamaThinksCallsAndFollowsFormats) {
  chat_template_ =
      "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: "
      "{% if enable_thinking %}<think>{% endif %}";
  start();
  const std::string few = R"(, "stream": false, "options": {"num_predict": 8})";
  EXPECT_TRUE(ok(post("/api/chat", kAsk + few + R"(, "think": true})")).at("message").find("thinking"));
  EXPECT_FALSE(ok(post("/api/chat", kAsk + few + R"(, "think": false})")).at("message").find("thinking"));
  const std::string schema = R"({"type": "object", "properties": {"city": {"enum": ["Oslo"]}}, "required": ["city"],
    "additionalProperties": false})";
  const Json made = ok(post("/api/chat", kAsk + std::string(R"(, "stream": false, "format": )") + schema + "}"));
  EXPECT_EQ(Json::parse(made.at("message").at("content").as_string()).at("city").as_string(), "Oslo");
  EXPECT_EQ(made.at("done_reason").as_string(), "stop");
  says(post("/api/chat", kAsk + std::string(R"(, "format": "xml"})")), 400, "format");
  // A history with calls and their results.
  const Json j =
      ok(post("/api/chat", R"({"model": "tiny", "stream": false, "options": {"num_predict": 2}, "messages": [
    {"role": "user", "content": "?"},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]},
    {"role": "tool", "tool_name": "f", "content": "2"}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]})"));
  EXPECT_EQ(j.at("message").at("role").as_string(), "assistant");
}

TEST_F(Serving, OllamaGenerates) {
  start();
  const std::string few = R"(, "stream": false, "options": {"num_predict": 5, "seed": 2, "temperature": 0.5}})";
  const Json raw = ok(post("/api/generate", R"({"model": "tiny", "raw": true, "prompt": "What is")" + few));
  const Json own =
      ok(post("/v1/completions", R"({"prompt": "What is", "max_tokens": 5, "seed": 2, "temperature": 0.5})"));
  EXPECT_EQ(raw.at("response"), own.at("choices").as_array()[0].at("text"));
  const Json first =
      ok(post("/api/generate", R"({"model": "tiny", "system": "Be brief.", "prompt": "What is")" + few));
  EXPECT_EQ(first.at("context").as_array().size(),
            static_cast<size_t>(first.at("prompt_eval_count").as_int() + first.at("eval_count").as_int()));
  Json again = Json::parse(R"({"model": "tiny", "prompt": "What is")" + few);
  again.set("context", first.at("context"));
  EXPECT_GT(ok(post("/api/generate", again.dump())).at("prompt_eval_count").as_int(),
            static_cast<int64_t>(first.at("context").as_array().size()));
  says(post("/api/generate", R"({"model": "tiny", "prompt": "a", "suffix": "b"})"), 400, "fill-in-the-middle");
  says(post("/api/generate", R"({"model": "tiny", "prompt": "a", "images": ["x"]})"), 400, "text only");
  says(post("/api/generate", R"({"model": "tiny", "prompt": "a", "template": "x"})"), 400, "template");
  says(post("/api/generate", R"({"model": "tiny", "prompt": "a", "options": {"mirostat": 1}})"), 400, "mirostat");
  EXPECT_EQ(ok(post("/api/generate", R"({"model": "tiny"})")).at("done_reason").as_string(), "load");
  EXPECT_EQ(ok(post("/api/chat", R"({"model": "tiny"})")).at("message").at("role").as_string(), "assistant");
  EXPECT_EQ(ok(post("/api/chat", R"({"model": "tiny", "messages": []})")).at("message").at("content").as_string(),
            "");
}

TEST_F(Serving, OllamaModels) {
  start();
  const Json tags = ok(http(port(), "GET", "/api/tags"));
  const Json& one = tags.at("models").as_array().at(0);
  EXPECT_EQ(one.at("name").as_string(), "tiny:latest");
  EXPECT_EQ(one.at("digest").as_string().size(), 64u);
  EXPECT_EQ(one.at("details").at("family").as_string(), "llama");
  const Json ps = ok(http(port(), "GET", "/api/ps"));
  EXPECT_EQ(ps.at("models").as_array().at(0).at("context_length").as_int(), 200000);
  const Json shown = ok(post("/api/show", R"({"model": "tiny"})"));
  EXPECT_EQ(shown.at("model_info").at("llama.context_length").as_int(), 200000);
  EXPECT_EQ(shown.at("model_info").at("llama.embedding_length").as_int(), 32);
  EXPECT_GT(shown.at("model_info").at("general.parameter_count").as_int(), 10000);
  EXPECT_EQ(shown.at("capabilities").dump(), R"(["completion","tools","thinking"])");
  EXPECT_TRUE(ok(http(port(), "GET", "/api/version")).at("version").is_string());
  const Json e = ok(post("/api/embed", R"({"model": "tiny", "input": ["What is", "the answer?"]})"));
  const Json own = ok(post("/v1/embeddings", R"({"input": ["What is", "the answer?"]})"));
  EXPECT_EQ(e.at("embeddings").as_array()[1], own.at("data").as_array()[1].at("embedding"));
  EXPECT_EQ(e.at("prompt_eval_count"), own.at("usage").at("prompt_tokens"));
  EXPECT_EQ(ok(post("/api/embeddings", R"({"model": "tiny", "prompt": "What is"})")).at("embedding"),
            e.at("embeddings").as_array()[0]);
  says(post("/api/show", R"({"model": "nope"})"), 404, "not served here");
  says(post("/api/chat", R"({"messages": []})"), 400, "model");
  says(post("/api/pull", R"({"model": "llama3"})"), 403, "/api/pull is not supported");
  says(http(port(), "DELETE", "/api/delete", R"({"model": "tiny"})"), 403, "is not supported");
}

TEST(OllamaKeepAlive, IsReadAsADuration) {
  const auto seconds = [](const char* text) {
    return serve::ollama_keep_alive(Json::parse(std::string(R"({"keep_alive": )") + text + "}")).value_or(-99);
  };
  EXPECT_EQ(seconds("\"5m\""), 300);
  EXPECT_EQ(seconds("\"1h30m\""), 5400);
  EXPECT_EQ(seconds("\"-1\""), -1);
  EXPECT_EQ(seconds("10"), 10);
  EXPECT_EQ(seconds("0"), 0);
  EXPECT_EQ(seconds("\"250ms\""), 0.25);
  EXPECT_EQ(seconds("null"), -99);
  EXPECT_THROW(seconds("\"soon\""), serve::ApiError);
  EXPECT_THROW(seconds("\"\""), serve::ApiError);
  EXPECT_THROW(seconds("true"), serve::ApiError);
}

}  // namespace
}  // namespace quern
