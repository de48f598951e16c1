// Anthropic's form: whole and streamed alike, blocks in and out, stop reasons, counts and errors in its shape.
#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kPath = "/v1/messages";
constexpr const char* kAsk = R"({"max_tokens": 24, "messages": [{"role": "user", "content": "What is the answer?"}])";

class Messages : public Serving {};

std::string two_letters(const std::string& text) {  // of ASCII, somewhere behind the first
  for (size_t i = 1; i + 1 < text.size(); ++i)
    if (text[i] > ' ' && text[i] < 127 && text[i + 1] > ' ' && text[i + 1] < 127) return text.substr(i, 2);
  ADD_FAILURE() << "nothing to stop at in '" << text << "'";
  return "xx";
}

TEST_F(Messages, AnswersWholeAndStreamedAlike) {
  start();
  const Json whole = ok(post(kPath, std::string(kAsk) + R"(, "seed": 3})"));
  EXPECT_EQ(whole.at("type").as_string(), "message");
  EXPECT_EQ(whole.at("stop_reason").as_string(), "max_tokens");
  EXPECT_EQ(whole.at("usage").at("output_tokens").as_int(), 24);
  const std::string text = whole.at("content").as_array()[0].at("text").as_string();
  EXPECT_FALSE(text.empty());
  std::string streamed;
  std::vector<std::string> names;
  for (const Event& e : events_of(post(kPath, std::string(kAsk) + R"(, "seed": 3, "stream": true})").body)) {
    if (names.empty() || names.back() != e.name) names.push_back(e.name);
    if (e.name == "content_block_delta") streamed += e.data.at("delta").at("text").as_string();
    if (e.name == "message_delta") {
      EXPECT_EQ(e.data.at("usage").at("output_tokens").as_int(), 24);
    }
  }
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(names, (std::vector<std::string>{"message_start", "ping", "content_block_start", "content_block_delta",
                                             "content_block_stop", "message_delta", "message_stop"}));
  // The same chat in the other form: the same prompt.
  const Json chat =
      ok(post("/v1/chat/completions",
              R"({"messages": [{"role": "user", "content": "What is the answer?"}], "max_tokens": 1})"));
  EXPECT_EQ(ok(post("/v1/messages/count_tokens", R"({"messages": [{"role": "user", "content": [{"type": "text",
    "text": "What is the answer?"}]}]})"))
                .at("input_tokens")
                .as_int(),
            chat.at("usage").at("prompt_tokens").as_int());
}

TEST_F(Messages, CallsToolsAndReadsTheirResults) {
  start();
  model_->defaults.eos_token_id = {model_->tokenizer.token_to_id("</s>")};
  const std::string tools = R"("max_tokens": 300, "seed": 1, "tools": [{"name": "roll", "description": "dice",
    "input_schema": {"type": "object", "properties": {"sides": {"enum": [6, 20]}}, "required": ["sides"]}}],
    "tool_choice": {"type": "tool", "name": "roll", "disable_parallel_tool_use": true})";
  const std::string ask = R"({"messages": [{"role": "user", "content": "roll"}], )" + tools;
  const Json j = ok(post(kPath, ask + "}"));
  EXPECT_EQ(j.at("stop_reason").as_string(), "tool_use") << j.dump();
  const Json& block = j.at("content").as_array()[0];
  EXPECT_EQ(block.at("type").as_string(), "tool_use");
  const int64_t sides = block.at("input").at("sides").as_int();
  EXPECT_TRUE(sides == 6 || sides == 20);
  std::string partial;
  for (const Event& e : events_of(post(kPath, ask + R"(, "stream": true})").body))
    if (e.name == "content_block_delta") partial += e.data.at("delta").at("partial_json").as_string();
  EXPECT_EQ(Json::parse(partial), block.at("input"));
  const std::string turn = fmt::format(R"({{"system": [{{"type": "text", "text": "s"}}], "messages": [
    {{"role": "user", "content": "roll"}}, {{"role": "assistant", "content": [{{"type": "thinking", "thinking": "hm",
    "signature": ""}}, {}]}}, {{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "{}",
    "content": [{{"type": "text", "text": "4"}}]}}, {{"type": "text", "text": "and now?"}}]}}], {}}})",
                                       block.dump(), block.at("id").as_string(), tools);
  ok(post(kPath, turn));
}

TEST_F(Messages, StopsThinksAndRefusesInItsOwnShape) {
  start();
  const Json whole = ok(post(kPath, std::string(kAsk) + R"(, "seed": 3})"));
  const std::string text = whole.at("content").as_array()[0].at("text").as_string(), stop = two_letters(text);
  Json asked = Json::parse(std::string(kAsk) + R"(, "seed": 3})");
  asked.set("stop_sequences", Json(Json::Array{Json("never in there"), Json(stop)}));
  const Json stopped = ok(post(kPath, asked.dump()));
  EXPECT_EQ(stopped.at("stop_reason").as_string(), "stop_sequence");
  EXPECT_EQ(stopped.at("stop_sequence").as_string(), stop);
  EXPECT_EQ(stopped.at("content").as_array()[0].at("text").as_string(), text.substr(0, text.find(stop)));

  auto refused_here = [&](const std::string& body, int status, const char* type, const char* word) {
    const RawAnswer a = post(kPath, body);
    EXPECT_EQ(a.status, status) << a.body;
    const Json j = Json::parse(a.body);
    EXPECT_EQ(j.at("type").as_string(), "error");
    EXPECT_EQ(j.at("error").at("type").as_string(), type);
    EXPECT_NE(j.at("error").at("message").as_string().find(word), std::string::npos) << a.body;
  };
  const char* bad = "invalid_request_error";
  refused_here("{", 400, bad, "JSON");
  refused_here(R"({"messages": [{"role": "user", "content": "x"}]})", 400, bad, "max_tokens");
  refused_here(R"({"max_tokens": 3, "messages": [{"role": "system", "content": "x"}]})", 400, bad,
               "messages[0].role");
  refused_here(R"({"max_tokens": 3, "messages": [{"role": "user", "content": [{"type": "image"}]}]})", 400, bad,
               "image");
  refused_here(R"({"max_tokens": 3, "messages": [{"role": "assistant", "content": "x"}]})", 400, bad,
               "before the one");
  refused_here(std::string(kAsk) + R"(, "tools": [{"type": "bash_20250124", "name": "bash"}]})", 400, bad,
               "tools[0]");
  refused_here(std::string(kAsk) + R"(, "thinking": {"type": "loud"}})", 400, bad, "thinking.type");
  refused_here(std::string(kAsk) + R"(, "model": "none"})", 404, "not_found_error", "none");
}

}  // namespace
}  // namespace quern
