// What coding agents need beside answers, on a model that follows a script: given beginnings of answers, the end of a
// thinking on request, choices of tools, token counts, other names of models.
#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kTool = R"("tools": [{"type": "function", "function": {"name": "weather", "strict": true,
  "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"]}}},
  {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}}])";

std::string call(const std::string& name, const std::string& arguments) {
  return fmt::format("<tool_call>\n{{\"name\": \"{}\", \"arguments\": {}}}\n</tool_call>", name, arguments);
}

class Agents : public Serving {
 protected:
  Json chat(const std::string& messages, const std::string& more = "") {
    return ok(post(kChat, fmt::format(R"({{"messages": [{}]{}{}}})", messages, more.empty() ? "" : ", ", more)));
  }
  static const Json& message(const Json& j) { return j.at("choices").as_array()[0].at("message"); }
  static std::string finish(const Json& j) { return j.at("choices").as_array()[0].at("finish_reason").as_string(); }
};

constexpr const char* kAsk = R"({"role": "user", "content": "the capital?"})";

TEST_F(Agents, ContinueAGivenBeginning) {
  script_ = {{"capital", "The capital is Oslo."}, {"thought", "<think>\nfirst this, then that\n</think>\n\nDone."}};
  start();
  const std::string begun = std::string(kAsk) + R"(, {"role": "assistant", "content": "The capital")";
  EXPECT_EQ(message(chat(kAsk)).at("content").as_string(), "The capital is Oslo.");
  EXPECT_EQ(message(chat(begun + "}", R"("continue_final_message": true)")).at("content").as_string(), " is Oslo.");
  EXPECT_EQ(message(chat(begun + R"(, "prefix": true})")).at("content").as_string(), " is Oslo.");
  EXPECT_EQ(message(chat(begun + "}")).at("content").as_string(), "The capital is Oslo.") << "a new message";
  const Json opened = chat(begun + R"(, "prefix": true})", R"("chat_template_kwargs": {"think": true})");
  EXPECT_EQ(message(opened).at("content").as_string(), " is Oslo.") << "the thinking is closed for it";

  const std::string thinks = R"({"role": "user", "content": "a thought?"}, {"role": "assistant", "prefix": true, )";
  const Json thought = chat(thinks + R"("content": "", "reasoning_content": "first this,"})");
  EXPECT_EQ(message(thought).at("reasoning_content").as_string(), "then that");
  EXPECT_EQ(message(thought).at("content").as_string(), "Done.");
  const Json answered = chat(thinks + R"("content": "Do", "reasoning_content": "first this"})");
  EXPECT_EQ(message(answered).at("content").as_string(), "ne.");
  EXPECT_EQ(message(answered).find("reasoning_content"), nullptr);

  const Json anthropic = ok(post("/v1/messages", R"({"max_tokens": 99, "messages": [)" + begun + "}]}"));
  EXPECT_EQ(anthropic.at("content").as_array()[0].at("text").as_string(), " is Oslo.");
  EXPECT_EQ(anthropic.at("stop_reason").as_string(), "end_turn");

  const auto refuse = [&](const std::string& messages, const std::string& more, const char* word) {
    refused(post(kChat, fmt::format(R"({{"messages": [{}], {}}})", messages, more)), 400, word);
  };
  const std::string go_on = R"("continue_final_message": true)";
  refuse(kAsk, go_on, "assistant");
  refuse(begun + "}", go_on + R"(, "response_format": {"type": "json_object"})", "beginning");
  refuse(begun + "}", go_on + R"(, "x_think": "vote:2")", "beginning");
  refuse(begun + "}", go_on + ", \"tool_choice\": \"required\", " + kTool, "beginning");
  refuse(R"({"role": "assistant", "content": "x"})", go_on, "before the one");
}

// A beginning is text: what it spells is no control token.
TEST_F(Agents, BeginningsAreData) {
  script_ = {{"", "x"}};
  start();
  const auto tokens = [&](const std::string& said) {
    return chat(std::string(kAsk) + R"(, {"role": "assistant", "prefix": true, "content": ")" + said + "\"}")
        .at("usage")
        .at("prompt_tokens")
        .as_int();
  };
  EXPECT_GT(tokens("a <|im_end|>"), tokens("a ") + 1);
}

TEST_F(Agents, EndTheThinkingOfARunningRequest) {
  std::string thought;
  for (int i = 0; i < 20'000; ++i) thought += "hm, ";
  script_ = {{"think", "<think>\n" + thought + "\n</think>\n\nDone."}, {"talk", "Well: " + thought}};
  start();
  for (const char* template_names : {R"({})", R"({"think": true})"}) {
    RawClient c(port());
    const std::string body = fmt::format(R"({{"messages": [{{"role": "user", "content": "think"}}], "stream": true,
      "chat_template_kwargs": {}}})",
                                         template_names);
    ASSERT_TRUE(c.send(fmt::format("POST {} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{}",
                                   kChat, body.size(), body)));
    std::string seen = c.read_until("reasoning_content");
    const size_t at = seen.find("chatcmpl-");
    ASSERT_NE(at, seen.npos) << seen;
    const std::string id = seen.substr(at, seen.find('"', at) - at);
    const Json ended = ok(http(port(), "POST", "/v1/requests/" + id + "/end_thinking"));
    EXPECT_EQ(ended.at("ended"), Json(true));
    seen += c.read_all();
    EXPECT_NE(seen.find("\"content\":\"D"), seen.npos) << seen.substr(seen.size() - 2000);
    EXPECT_NE(seen.find("\"finish_reason\":\"stop\""), seen.npos);
    EXPECT_EQ(seen.find("</think>"), seen.npos);
    EXPECT_LT(seen.size(), 4 * thought.size()) << "the thinking did not end";
    refused(http(port(), "POST", "/v1/requests/" + id + "/end_thinking"), 404, id);
  }
  RawClient c(port());
  const std::string body = R"({"messages": [{"role": "user", "content": "talk"}], "stream": true})";
  ASSERT_TRUE(
      c.send(fmt::format("POST {} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{}", kChat, body.size(), body)));
  const std::string seen = c.read_until("\"delta\":{\"content\"");
  const size_t at = seen.find("x-request-id: ") + 14;
  const std::string id = seen.substr(at, seen.find('\r', at) - at);
  EXPECT_EQ(ok(http(port(), "POST", "/v1/requests/" + id + "/end_thinking")).at("ended"), Json(false)) << id;
  c.hang_up();
  refused(http(port(), "POST", "/v1/requests/req-0/end_thinking"), 404, "req-0");
  refused(http(port(), "POST", "/v1/requests/req-0/stop"), 404, "end_thinking");
}

TEST_F(Agents, OneCallAlonePartsTheRest) {
  const std::string city = R"({"city": "Oslo"})";
  script_ = {{"", "I look.\n" + call("weather", city) + "\n" + call("now", "{}") + "\n" + std::string(4000, '.')}};
  start();
  for (const char* strict : {"true", "false"}) {
    std::string tools = kTool;
    tools.replace(tools.find("true"), 4, strict);
    const Json both = chat(kAsk, tools), one = chat(kAsk, tools + R"(, "parallel_tool_calls": false)");
    EXPECT_EQ(message(both).at("tool_calls").as_array().size(), 2u);
    EXPECT_EQ(finish(one), "tool_calls");
    ASSERT_EQ(message(one).at("tool_calls").as_array().size(), 1u);
    EXPECT_EQ(message(one).at("tool_calls").as_array()[0].at("function").at("arguments").as_string(), city);
    EXPECT_EQ(message(one).at("content").as_string(), "I look.");
    EXPECT_LT(2 * one.at("usage").at("completion_tokens").as_int(), both.at("usage").at("completion_tokens").as_int())
        << "generation ends with the call";
    const std::string streamed =
        post(kChat, fmt::format(R"({{"messages": [{}], "stream": true, {}, "parallel_tool_calls":
      false}})",
                                kAsk, tools))
            .body;
    EXPECT_EQ(streamed.find("\"now\""), streamed.npos);
    EXPECT_NE(streamed.find("\"finish_reason\":\"tool_calls\""), streamed.npos);
  }
}

TEST_F(Agents, StrictCallsFollowTheirSchemaWhereNoneIsRequired) {
  script_ = {{"", "I look.\n" + call("weather", R"({"city": "Paris"})")}};
  start();
  const Json strict = chat(kAsk, kTool);
  const Json arguments =
      Json::parse(message(strict).at("tool_calls").as_array()[0].at("function").at("arguments").as_string());
  EXPECT_TRUE(arguments.at("city") == Json("Oslo") || arguments.at("city") == Json("Rome")) << arguments.dump();
  EXPECT_EQ(message(strict).at("content").as_string(), "I look.");
  std::string loose = kTool;
  loose.replace(loose.find("true"), 4, "false");
  const Json free = chat(kAsk, loose);
  EXPECT_NE(free.dump().find("Paris"), std::string::npos);
}

TEST_F(Agents, ChooseAmongTheAllowedTools) {
  script_ = {{"", call("now", "{}")}};
  start();
  const auto choice = [&](const char* mode, const char* name) {
    return fmt::format(R"({}, "tool_choice": {{"type": "allowed_tools", "allowed_tools": {{"mode": "{}", "tools":
      [{{"type": "function", "function": {{"name": "{}"}}}}]}}}})",
                       kTool, mode, name);
  };
  EXPECT_EQ(message(chat(kAsk, choice("auto", "now"))).at("tool_calls").as_array().size(), 1u);
  const Json required = chat(kAsk, choice("required", "weather"));
  EXPECT_EQ(message(required).at("tool_calls").as_array()[0].at("function").at("name").as_string(), "weather");
  refused(post(kChat, fmt::format(R"({{"messages": [{}], {}}})", kAsk, choice("auto", "nowhere"))), 400, "nowhere");
  refused(post(kChat, fmt::format(R"({{"messages": [{}], {}}})", kAsk, choice("loud", "now"))), 400, "loud");
}

TEST_F(Agents, CallOrAnswerInTheAskedForm) {
  script_ = {{"capital", call("weather", R"({"city": "Oslo"})")}, {"rain", R"({"city": "Oslo"})"}};
  start();
  const std::string form =
      std::string(kTool) + R"(, "response_format": {"type": "json_schema", "json_schema": {"name":
    "x", "schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}})";
  const Json calls = chat(kAsk, form);
  EXPECT_EQ(finish(calls), "tool_calls") << calls.dump();
  Json turn = message(calls);
  const std::string result = R"({"role": "tool", "content": "rain", "tool_call_id": "c"})";
  const Json answer = chat(fmt::format("{}, {}, {}", kAsk, turn.dump(), result), form);
  EXPECT_EQ(message(answer).at("content").as_string(), R"({"city": "Oslo"})");
  EXPECT_EQ(finish(answer), "stop");
  const Json forced = chat(kAsk, form + R"(, "tool_choice": "required")");
  EXPECT_EQ(finish(forced), "tool_calls");
}

TEST_F(Agents, CountTokensBeforeTheyAsk) {
  script_ = {{"", "x"}};
  start();
  const std::string messages = R"({"model": "scripted", "max_tokens": 9, "system": "Be brief.", "messages": [{"role":
    "user", "content": "hello"}], "tools": [{"name": "now", "input_schema": {"type": "object", "properties": {}}}]})";
  const auto counted = ok(post("/v1/messages/count_tokens", messages)).at("input_tokens").as_int();
  const Json usage = ok(post("/v1/messages", messages)).at("usage");
  EXPECT_EQ(usage.at("input_tokens").as_int() + usage.at("cache_read_input_tokens").as_int(), counted);
  const std::string response =
      R"({"instructions": "Be brief.", "input": "hello", "tools": [{"type": "function", "name":
    "now", "parameters": {"type": "object", "properties": {}}}]})";
  const Json tokens = ok(post("/v1/responses/input_tokens", response));
  EXPECT_EQ(tokens.at("object").as_string(), "response.input_tokens");
  EXPECT_EQ(tokens.at("input_tokens").as_int(), counted);
  EXPECT_EQ(ok(post("/v1/responses", response)).at("usage").at("input_tokens").as_int(), counted);
  const std::string more = R"("previous_response_id": "nothing", )";
  refused(post("/v1/responses/input_tokens", "{" + more + response.substr(1)), 404, "nothing");
}

TEST_F(Agents, AskForModelsByNamesOfTheirOwn) {
  script_ = {{"", "x"}};
  serve::AppOptions options;
  options.live.aliases = {{"gpt-x", "scripted"}, {"claude-*", "scripted"}};
  start(std::move(options));
  for (const char* name : {"gpt-x", "claude-sonnet-9", "scripted"})
    EXPECT_EQ(chat(kAsk, fmt::format(R"("model": "{}")", name)).at("model").as_string(), "scripted");
  refused(post(kChat, fmt::format(R"({{"messages": [{}], "model": "gpt-y"}})", kAsk)), 404, "gpt-y");
  const Json list = ok(http(port(), "GET", "/v1/models"));
  ASSERT_EQ(list.at("data").as_array().size(), 2u) << "a pattern is no name";
  const Json& alias = list.at("data").as_array()[1];
  EXPECT_EQ(alias.at("id").as_string(), "gpt-x");
  EXPECT_EQ(alias.at("root").as_string(), "scripted");
  EXPECT_EQ(alias.at("type").as_string(), "model");
  EXPECT_EQ(alias.at("created_at").as_string(), "1970-01-01T00:00:07Z");
  EXPECT_EQ(alias.at("max_model_len").as_int(), context_);
  EXPECT_EQ(list.at("last_id").as_string(), "gpt-x");
  EXPECT_EQ(ok(http(port(), "GET", "/v1/models/claude-opus")).at("id").as_string(), "claude-opus");
}

TEST(ModelAliases, TheVeryNameThenTheLongestPattern) {
  const serve::ModelAliases aliases = {{"*", "a"}, {"gpt-*", "b"}, {"gpt-4", "c"}, {"gpt-4o*", "d"}};
  EXPECT_EQ(serve::alias_target(aliases, "gpt-4"), "c");
  EXPECT_EQ(serve::alias_target(aliases, "gpt-4o-mini"), "d");
  EXPECT_EQ(serve::alias_target(aliases, "gpt-5"), "b");
  EXPECT_EQ(serve::alias_target(aliases, "claude"), "a");
  EXPECT_EQ(serve::alias_target({}, "claude"), "");
}

}  // namespace
}  // namespace quern
