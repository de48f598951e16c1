// Every event of a stream that the SDKs of the Responses and Messages APIs read, on a model that follows a script.
#include <algorithm>

#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kResponses = "/v1/responses";
constexpr const char* kMessages = "/v1/messages";

std::vector<std::string> names_of(const std::vector<Event>& events) {  // repeated ones once
  std::vector<std::string> out;
  for (const Event& e : events)
    if (out.empty() || out.back() != e.name) out.push_back(e.name);
  return out;
}

class AgentStreams : public Serving {
 protected:
  std::vector<Event> stream(const char* path, std::string body) {
    body.insert(1, R"("stream": true, )");
    return events_of(post(path, body).body);
  }
};

constexpr const char* kThinksAndCalls =
    "<think>\nI should look.\n</think>\n\nI look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"input\": \"at "
    "\\\"it\\\"\"}}\n"
    "</tool_call>";

TEST_F(AgentStreams, MessagesHaveBlocksWithSignaturesAndPings) {
  script_ = {{"", kThinksAndCalls}};
  start();
  const std::string ask =
      R"({"max_tokens": 900, "messages": [{"role": "user", "content": "x"}], "tools": [{"name": "look",
    "input_schema": {"type": "object", "properties": {"input": {"type": "string"}}}}]})";
  const std::vector<Event> events = stream(kMessages, ask);
  EXPECT_EQ(names_of(events),
            (std::vector<std::string>{"message_start", "ping", "content_block_start", "content_block_delta",
                                      "content_block_stop", "content_block_start", "content_block_delta",
                                      "content_block_stop", "content_block_start", "content_block_delta",
                                      "content_block_stop", "message_delta", "message_stop"}));
  std::string signature, partial;
  std::vector<std::string> kinds;
  for (const Event& e : events) {
    if (e.name != "content_block_delta") continue;
    const Json& d = e.data.at("delta");
    const std::string type = d.at("type").as_string();
    if (kinds.empty() || kinds.back() != type) kinds.push_back(type);
    if (const Json* s = d.find("signature")) signature = s->as_string();
    if (const Json* p = d.find("partial_json")) partial += p->as_string();
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"thinking_delta", "signature_delta", "text_delta", "input_json_delta"}));
  EXPECT_EQ(Json::parse(partial).at("input").as_string(), "at \"it\"");
  const Json whole = ok(post(kMessages, ask));
  EXPECT_EQ(whole.at("content").as_array()[0].at("thinking").as_string(), "I should look.");
  EXPECT_EQ(whole.at("content").as_array()[0].at("signature").as_string(), signature);
  EXPECT_EQ(signature.size(), 16u);
  EXPECT_EQ(whole.at("stop_reason").as_string(), "tool_use");
}

TEST_F(AgentStreams, MessagesReadWhatClaudeCodeSends) {
  script_ = {{"", "fine"}};
  start();
  const auto prompt = [&](const std::string& messages, const std::string& more = "") {
    const Json j = ok(post("/v1/messages/count_tokens", fmt::format(R"({{"messages": [{}]{}}})", messages, more)));
    return j.at("input_tokens").as_int();
  };
  const std::string user = R"({"role": "user", "content": "x"})";
  const std::string turns = user + R"(, {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm",
    "signature": "s"}, {"type": "redacted_thinking", "data": "zz"}, {"type": "text", "text": "y"}]}, )" +
                            user;
  const std::string clear = R"(, "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": )";
  EXPECT_EQ(prompt(turns, clear + R"("all"}]})"), prompt(turns));
  EXPECT_EQ(
      prompt(turns, R"(, "metadata": {"user_id": "u"}, "service_tier": "auto", "system": [{"type": "text", "text":
    "s", "cache_control": {"type": "ephemeral"}}])"),
      prompt(turns, R"(, "system": "s")"));
  EXPECT_EQ(prompt(R"({"role": "user", "content": [{"type": "document", "title": "t", "source": {"type": "text",
    "media_type": "text/plain", "data": "d"}}]})"),
            prompt(R"({"role": "user", "content": "t\n\nd"})"));
  const auto refuse = [&](const std::string& more, const char* word) {
    const RawAnswer a = post(kMessages, fmt::format(R"({{"max_tokens": 3, "messages": [{}]{}}})", user, more));
    EXPECT_EQ(a.status, 400);
    EXPECT_NE(a.body.find(word), a.body.npos) << a.body;
  };
  refuse(R"(, "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]})", "clear_tool_uses");
  refuse(R"(, "mcp_servers": [{}])", "mcp_servers");
  const RawAnswer pdf = post(kMessages, R"({"max_tokens": 3, "messages": [{"role": "user", "content": [{"type":
    "document", "source": {"type": "base64", "media_type": "application/pdf", "data": ""}}]}]})");
  EXPECT_EQ(pdf.status, 400);
  EXPECT_NE(pdf.body.find("base64"), pdf.body.npos) << pdf.body;
}

TEST_F(AgentStreams, MessagesEndWithTheContextAndFollowAForm) {
  script_ = {{"form", R"({"a": 1})"}, {"long", std::string(4000, 'x')}};
  context_ = 300;
  start();
  const Json cut = ok(post(kMessages, R"({"max_tokens": 32000, "messages": [{"role": "user", "content": "long"}]})"));
  EXPECT_EQ(cut.at("stop_reason").as_string(), "model_context_window_exceeded");
  EXPECT_EQ(cut.at("usage").at("output_tokens").as_int() + cut.at("usage").at("input_tokens").as_int(), 300);
  const Json some = ok(post(kMessages, R"({"max_tokens": 5, "messages": [{"role": "user", "content": "long"}]})"));
  EXPECT_EQ(some.at("stop_reason").as_string(), "max_tokens");
  for (const char* field : {R"("output_config": {"effort": "low", "format": )", R"("output_format": )"}) {
    const std::string form = std::string(field) +
                             R"({"type": "json_schema", "schema": {"type": "object", "properties":
      {"a": {"type": "integer"}}, "required": ["a"]}})" +
                             (field[8] == 'c' ? "}" : "");
    const Json j =
        ok(post(kMessages, R"({"max_tokens": 99, "messages": [{"role": "user", "content": "form"}], )" + form + "}"));
    EXPECT_EQ(j.at("content").as_array()[0].at("text").as_string(), R"({"a": 1})");
  }
}

TEST_F(AgentStreams, ResponsesSummarizeByTheThinkingItself) {
  script_ = {{"", kThinksAndCalls}};
  start();
  const std::string ask = R"({"input": "x", "reasoning": {"effort": "low", "summary": "auto"}, "service_tier": "auto",
    "prompt_cache_key": "k", "include": ["reasoning.encrypted_content"], "text": {"verbosity": "low"}, "tools": [{"type":
    "function", "name": "look", "strict": true, "parameters": {"type": "object", "properties": {"input": {"type":
    "string"}}, "required": ["input"], "additionalProperties": false}}]})";
  const std::vector<Event> events = stream(kResponses, ask);
  EXPECT_EQ(names_of(events),
            (std::vector<std::string>{
                "response.created", "response.in_progress", "response.output_item.added",
                "response.reasoning_summary_part.added", "response.reasoning_summary_text.delta",
                "response.reasoning_summary_text.done", "response.reasoning_summary_part.done",
                "response.output_item.done", "response.output_item.added", "response.content_part.added",
                "response.output_text.delta", "response.output_text.done", "response.content_part.done",
                "response.output_item.done", "response.output_item.added", "response.function_call_arguments.delta",
                "response.function_call_arguments.done", "response.output_item.done", "response.completed"}));
  const Json& r = events.back().data.at("response");
  EXPECT_EQ(r.at("service_tier").as_string(), "default");
  EXPECT_EQ(r.at("prompt_cache_key").as_string(), "k");
  const Json::Array& items = r.at("output").as_array();
  ASSERT_EQ(items.size(), 3u);
  EXPECT_EQ(items[0].at("summary").as_array()[0].at("text").as_string(), "I should look.");
  // Handed back, the thinking is the model's own again.
  Json next = Json::object(), input = Json::array();
  for (const Json& i : items) input.push(i);
  input.push(Json::parse(R"({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text":
    "4"}]})"));
  next.set("input", std::move(input));
  ok(post(kResponses, next.dump()));
}

TEST_F(AgentStreams, ResponsesCallToolsThatTakeAText) {
  script_ = {{"", kThinksAndCalls}};
  start();
  const std::string ask = R"({"input": "x", "tools": [{"type": "custom", "name": "look", "description": "d"}]})";
  const std::vector<Event> events = stream(kResponses, ask);
  const auto done = std::ranges::find(events, "response.custom_tool_call_input.done", &Event::name);
  ASSERT_NE(done, events.end());
  EXPECT_EQ(done->data.at("input").as_string(), "at \"it\"");
  EXPECT_EQ(std::ranges::count(events, "response.custom_tool_call_input.delta", &Event::name), 1);
  const Json whole = ok(post(kResponses, ask));
  const Json& item = whole.at("output").as_array().back();
  EXPECT_EQ(item.at("type").as_string(), "custom_tool_call");
  EXPECT_EQ(item.at("input").as_string(), "at \"it\"");
  Json next = Json::object(), output = Json::object();
  output.set("type", "custom_tool_call_output"), output.set("call_id", item.at("call_id")), output.set("output", "4");
  next.set("input", Json(Json::Array{Json::parse(R"({"role": "user", "content": "x"})"), item, output}));
  ok(post(kResponses, next.dump()));
  refused(
      post(kResponses, R"({"input": "x", "tools": [{"type": "custom", "name": "look", "format": {"type": "grammar",
    "syntax": "lark", "definition": "start: X"}}]})"),
      400, "tools[0].format");
}

TEST_F(AgentStreams, ResponsesChooseAndReportLikelihoods) {
  script_ = {{"", kThinksAndCalls}, {"plain", "No call."}};
  start();
  const std::string tools = R"("tools": [{"type": "function", "name": "look", "parameters": {"type": "object",
    "properties": {"input": {"type": "string", "maxLength": 9}}}}, {"type": "function", "name": "now"}])";
  const Json named = ok(
      post(kResponses, R"({"input": "plain", "tool_choice": {"type": "function", "name": "look"}, )" + tools + "}"));
  EXPECT_EQ(named.at("output").as_array().back().at("name").as_string(), "look");
  const Json allowed = ok(post(kResponses, R"({"input": "plain", "tool_choice": {"type": "allowed_tools", "mode":
    "required", "tools": [{"type": "function", "name": "now"}]}, "parallel_tool_calls": false, )" +
                                               tools + "}"));
  EXPECT_EQ(allowed.at("output").as_array().back().at("name").as_string(), "now");
  const Json likely = ok(post(kResponses, R"({"input": "plain", "top_logprobs": 2, "include":
    ["message.output_text.logprobs"]})"));
  const Json& part = likely.at("output").as_array()[0].at("content").as_array()[0];
  std::string text;
  for (const Json& t : part.at("logprobs").as_array()) {
    text += t.at("token").as_string();
    EXPECT_EQ(t.at("top_logprobs").as_array().size(), 2u);
    EXPECT_GT(t.at("logprob").as_double(), -0.01);
  }
  EXPECT_EQ(text, part.at("text").as_string());
}

TEST_F(AgentStreams, InstructionsAndDeveloperMessagesAreOneSystemMessage) {
  script_ = {{"", "x"}};
  start();
  const auto tokens = [&](const std::string& body) {
    return ok(post("/v1/responses/input_tokens", body)).at("input_tokens").as_int();
  };
  const std::string rest = R"({"role": "user", "content": "c"}]})";
  EXPECT_EQ(tokens(R"({"instructions": "a", "input": [{"role": "developer", "content": "b"}, )" + rest),
            tokens(R"({"instructions": "a\n\nb", "input": [)" + rest));
}

}  // namespace
}  // namespace quern
