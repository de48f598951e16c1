// Tools of MCP servers in chats: rounds, permissions, what goes back to the client, streams, endpoints, foreign pages.
#include <fstream>
#include <set>

#include "quern/serve/api/mcp_api.h"
#include "quern/serve/api/mcp_chat.h"
#include "quern/serve/http/memory_exchange.h"
#include "quern/serve/wire/api_error.h"
#include "tests/cli/shell.h"
#include "tests/mcp/script_server.h"
#include "tests/serve/serving.h"

namespace quern {
namespace {

constexpr const char* kChat = "/v1/chat/completions";

class McpChat : public Serving {
 protected:
  void begin(serve::AppOptions options = {}) {
    mcp::ServerConfig off = script_server(folder_ / "", "off");
    off.disabled = true;
    options.mcp = std::make_shared<mcp::Servers>(
        std::vector<mcp::ServerConfig>{script_server(folder_ / "", "notes"), off}, "0");
    start(std::move(options));
    model_->defaults.eos_token_id = {model_->tokenizer.token_to_id("</s>")};
  }
  // The random model has to call the tool of that name, whose argument is one of two words.
  static std::string asking(const std::string& mcp, const std::string& more = {}, const std::string& tool = "echo") {
    return fmt::format(
        R"({{"messages": [{{"role": "user", "content": "?"}}], "max_tokens": 200, "temperature": 1, "seed": 3,
      "tool_choice": {{"type": "function", "function": {{"name": "notes__{}"}}}}, "parallel_tool_calls": false, "mcp": {}{}}})",
        tool, mcp, more);
  }
  static std::string said(const Json& arguments) { return "said: " + arguments.at("text").as_string(); }
  ScratchFolder folder_;
};

TEST_F(McpChat, AllowedCallsRunAndTheModelGoesOn) {
  begin();
  const Json j = ok(post(kChat, asking(R"({"allow": ["notes.echo"]})")));
  const Json& x = j.at("x_mcp");
  EXPECT_EQ(x.at("rounds"), Json(1)) << j.dump();
  ASSERT_EQ(x.at("calls").as_array().size(), 1u) << j.dump();
  const Json& call = x.at("calls").as_array()[0];
  EXPECT_EQ(call.at("server"), Json("notes"));
  EXPECT_EQ(call.at("tool"), Json("echo"));
  EXPECT_EQ(call.at("text"), Json(said(call.at("arguments"))));
  EXPECT_EQ(call.at("is_error"), Json(false));
  const Json::Array& messages = x.at("messages").as_array();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[1].at("tool_call_id"), call.at("id"));
  EXPECT_EQ(messages[1].at("content"), call.at("text"));
  const Json& choice = j.at("choices").as_array()[0];
  EXPECT_NE(choice.at("finish_reason"), Json("tool_calls")) << "tool_choice holds for the first round only";
  EXPECT_TRUE(x.at("pending").as_array().empty());
  EXPECT_GT(j.at("usage").at("completion_tokens").as_int(), 0);
  // The second round read the conversation that the history makes, and nothing else.
  Json body = Json::parse(asking("null"));
  body.erase("tool_choice"), body.erase("mcp");
  for (auto& [key, value] : body.members())
    if (key == "messages") value.push(messages[0]), value.push(messages[1]);
  const Json tools = ok(http(port(), "GET", "/v1/mcp/tools?server=notes"));
  Json functions = Json::array();
  for (const Json& t : tools.at("data").as_array()) {
    Json function = Json::object(), one = Json::object();
    function.set("name", t.at("function")), function.set("description", t.at("description"));
    function.set("parameters", t.at("input_schema"));
    one.set("type", "function"), one.set("function", std::move(function)), functions.push(std::move(one));
  }
  body.set("tools", std::move(functions));
  EXPECT_EQ(ok(post(kChat, body.dump())).at("choices").as_array()[0].at("message").at("content"),
            choice.at("message").at("content"));
}

TEST_F(McpChat, RoundsAreTheCallers) {
  const std::string keys = folder_ / "keys.toml";
  std::ofstream(keys) << "[[key]]\nname = \"ci\"\nkey = \"sk-of-ci-\"\n";
  serve::AppOptions options;
  options.keys_file = keys;
  begin(std::move(options));
  const char* key = "x-api-key: sk-of-ci-\r\n";
  const Json j = ok(post(kChat, asking(R"({"allow": ["notes.echo"]})"), key));
  ASSERT_EQ(j.at("x_mcp").at("rounds"), Json(1)) << j.dump();
  const Json& usage = j.at("usage");
  const Json today = ok(http(port(), "GET", "/v1/usage", {}, key)).at("data").as_array()[0].at("today");
  EXPECT_EQ(today.at("requests"), Json(1));
  EXPECT_EQ(today.at("prompt_tokens"), usage.at("prompt_tokens")) << "of both rounds";
  EXPECT_EQ(today.at("completion_tokens"), usage.at("completion_tokens"));
  EXPECT_NE(http(port(), "GET", "/metrics", {}, key).body.find("gen_ai_response_model=\"tiny\""), std::string::npos);
}

TEST_F(McpChat, ACallThatIsNotAllowedGoesToTheClient) {
  begin();
  for (const char* mcp :
       {"true", R"({"allow": ["notes.fail", "other.*"]})", R"({"allow": ["*"], "max_rounds": 0})"}) {
    const Json j = ok(post(kChat, asking(mcp)));
    const Json& choice = j.at("choices").as_array()[0];
    EXPECT_EQ(choice.at("finish_reason"), Json("tool_calls")) << j.dump();
    const Json& call = choice.at("message").at("tool_calls").as_array()[0];
    EXPECT_EQ(call.at("function").at("name"), Json("notes__echo"));
    const Json& x = j.at("x_mcp");
    EXPECT_EQ(x.at("rounds"), Json(0));
    ASSERT_EQ(x.at("pending").as_array().size(), 1u);
    EXPECT_EQ(x.at("pending").as_array()[0].at("id"), call.at("id"));
    EXPECT_EQ(x.at("pending").as_array()[0].at("server"), Json("notes"));
    const Json& arguments = x.at("pending").as_array()[0].at("arguments");
    Json run = Json::object();
    run.set("function", "notes__echo"), run.set("arguments", arguments);
    EXPECT_EQ(ok(post("/v1/mcp/call", run.dump())).at("text"), Json(said(arguments))) << "the client runs it";
  }
}

TEST_F(McpChat, AFailedCallIsToldToTheModel) {
  begin();
  const Json j = ok(post(kChat, asking(R"({"allow": ["*"]})", "", "fail")));
  EXPECT_EQ(j.at("x_mcp").at("calls").as_array()[0].at("is_error"), Json(true));
  EXPECT_EQ(j.at("x_mcp").at("messages").as_array()[1].at("content"), Json("Error: it failed"));
  const Json ended = ok(post(kChat, asking(R"({"allow": ["*"]})", "", "leave")));
  EXPECT_NE(ended.at("x_mcp").at("calls").as_array()[0].at("text").as_string().find("has ended"), std::string::npos);
}

struct SeenStream {
  std::vector<Json> events;  // of x_mcp
  std::string content, finish, ids;
  Json usage, calls;
  bool done = false;
};

SeenStream seen(const std::string& body) {
  SeenStream s;
  std::set<std::string> ids;
  for (size_t at = 0; (at = body.find("data: ", at)) != body.npos; at += 6) {
    const std::string data = body.substr(at + 6, body.find("\n\n", at) - at - 6);
    if (data == "[DONE]") {
      s.done = true;
      continue;
    }
    EXPECT_FALSE(s.done) << data;
    const Json j = Json::parse(data);
    ids.insert(j.at("id").as_string());
    if (const Json* x = j.find("x_mcp")) s.events.push_back(*x);
    if (const Json* u = j.find("usage"); u && !u->is_null()) s.usage = *u;
    for (const Json& c : j.at("choices").as_array()) {
      if (const Json* t = c.at("delta").find("content")) s.content += t->as_string();
      if (const Json* calls = c.at("delta").find("tool_calls")) s.calls = *calls;
      if (c.at("finish_reason").is_string()) s.finish += c.at("finish_reason").as_string();
    }
  }
  EXPECT_EQ(ids.size(), 1u) << "one answer, whatever the rounds";
  return s;
}

TEST_F(McpChat, StreamsTellWhatHappens) {
  begin();
  const std::string allow = R"({"allow": ["notes.*"]})";
  const Json whole = ok(post(kChat, asking(allow)));
  const SeenStream s =
      seen(post(kChat, asking(allow, R"(, "stream": true, "stream_options": {"include_usage": true})")).body);
  EXPECT_TRUE(s.done);
  EXPECT_EQ(s.content, whole.at("choices").as_array()[0].at("message").at("content").as_string());
  EXPECT_EQ(s.finish, whole.at("choices").as_array()[0].at("finish_reason").as_string()) << "once, at the end";
  EXPECT_TRUE(s.calls.is_null()) << "calls that ran here are none of the client's";
  ASSERT_EQ(s.events.size(), 3u);
  EXPECT_EQ(s.events[0].at("event"), Json("call"));
  EXPECT_EQ(s.events[0].at("tool"), Json("echo"));
  EXPECT_EQ(s.events[1].at("event"), Json("result"));
  EXPECT_EQ(s.events[1].at("text"), Json(said(s.events[0].at("arguments"))));
  EXPECT_EQ(s.events[1].at("id"), s.events[0].at("id"));
  EXPECT_EQ(s.events[2].at("event"), Json("done"));
  EXPECT_EQ(s.events[2].at("messages").as_array().size(), 2u);
  EXPECT_EQ(s.usage.at("completion_tokens"), whole.at("usage").at("completion_tokens"));
  const SeenStream back = seen(post(kChat, asking("true", R"(, "stream": true)")).body);
  EXPECT_EQ(back.finish, "tool_calls");
  EXPECT_EQ(back.calls.as_array()[0].at("index"), Json(0));
  EXPECT_TRUE(back.usage.is_null()) << "it was not asked for";
  EXPECT_EQ(back.events.back().at("pending").as_array().size(), 1u);
}

TEST_F(McpChat, ACallThatIsCutOffEndsTheStreamInOrder) {
  begin();
  for (int tokens = 5; tokens < 120; tokens += 5) {
    const SeenStream s =
        seen(post(kChat, asking(R"({"allow": ["*"], "max_rounds": 1})",
                                fmt::format(R"(, "stream": true, "max_completion_tokens": {})", tokens)))
                 .body);
    EXPECT_TRUE(s.done) << tokens;
    EXPECT_FALSE(s.finish.empty()) << tokens;
    ASSERT_FALSE(s.events.empty()) << tokens;
    EXPECT_EQ(s.events.back().at("event"), Json("done")) << tokens;
    for (const Json& call : s.events.back().at("calls").as_array())
      EXPECT_EQ(call.at("text"), Json(said(call.at("arguments")))) << "only whole calls ran: " << tokens;
  }
}

TEST_F(McpChat, EveryRoundCountsForTheKey) {
  std::ofstream(folder_ / "keys.toml")
      << "[[key]]\nname = \"ci\"\nkey = \"sk-of-ci-\"\ntokens_per_minute = 1000000\n";
  serve::AppOptions options;
  options.keys_file = folder_ / "keys.toml";
  begin(std::move(options));
  const char* key = "Authorization: Bearer sk-of-ci-\r\n";
  const Json j = ok(post(kChat, asking(R"({"allow": ["*"], "max_rounds": 2})"), key));
  ASSERT_GE(j.at("x_mcp").at("rounds").as_int(), 1);
  const Json used = ok(http(port(), "GET", "/v1/usage", {}, key)).at("data").as_array()[0].at("since_start");
  EXPECT_EQ(used.at("prompt_tokens"), j.at("usage").at("prompt_tokens"));
  EXPECT_EQ(used.at("completion_tokens"), j.at("usage").at("completion_tokens"));
}

TEST_F(McpChat, ACallEndsWithItsClient) {
  const mcp::Servers servers({script_server(folder_ / "", "notes")}, "0");
  EXPECT_THROW(
      serve::mcp_call_json(servers, Json::parse(R"({"server": "notes", "tool": "silent"})"), [] { return true; }),
      serve::ApiError);
}

TEST_F(McpChat, ARefusedCallIsToldToTheModel) {
  begin();
  const mcp::Servers servers({script_server(folder_ / "", "notes")}, "0");
  int asked = 0;
  const serve::ToolRounds rounds{.listing = mcp::Servers::list_tools(servers.chosen({})),
                                 .permission = [&](const mcp::NamedTool& t, const Json&) {
                                   ++asked;
                                   EXPECT_EQ(t.full_name(), "notes.echo");
                                   return serve::ToolPermission::refuse;
                                 }};
  Json body = Json::parse(asking("null"));
  body.erase("mcp");
  serve::MemoryExchange e(body.dump());
  const auto said = serve::chat_with_tools(
      *model_, e, {.body = body, .memory = {}, .documents = {}, .conversation = {}, .question = {}}, "", rounds);
  EXPECT_TRUE(said);
  EXPECT_EQ(asked, 1);
  const Json x = Json::parse(e.body()).at("x_mcp");
  EXPECT_EQ(x.at("messages").as_array()[1].at("content"), Json("Error: the user did not permit this call"));
}

TEST_F(McpChat, WrongFieldsAreNamed) {
  begin();
  const std::pair<const char*, const char*> cases[] = {{R"({"server": []})", "servers"},
                                                       {R"({"servers": ["note"]})", "did you mean 'notes'"},
                                                       {R"({"tools": ["notes.eco"]})", "did you mean 'notes.echo'"},
                                                       {R"({"max_rounds": 65})", "max_rounds"},
                                                       {"[]", "expected true or an object"}};
  for (const auto& [mcp, word] : cases) {
    const RawAnswer a = post(kChat, asking(mcp));
    EXPECT_TRUE(a.status == 400 || a.status == 404) << a.body;
    EXPECT_NE(a.body.find(word), a.body.npos) << a.body;
  }
  refused(post(kChat, asking("true", R"(, "n": 2)")), 400, "one choice");
}

TEST_F(McpChat, WithoutServersTheFieldIsRefused) {
  start();
  refused(post(kChat, R"({"messages": [{"role": "user", "content": "?"}], "mcp": true})"), 400, "no MCP servers");
  refused(http(port(), "GET", "/v1/mcp/tools"), 404, "no MCP servers");
  refused(post("/v1/mcp/call", "{}"), 404, "no MCP servers");
  ok(post(kChat, R"({"messages": [{"role": "user", "content": "?"}], "mcp": null, "max_tokens": 2})"));
}

TEST_F(McpChat, ListsAndCalls) {
  begin();
  auto get = [&](const char* path) { return http(port(), "GET", path); };
  const Json before = ok(get("/v1/mcp/servers"));
  EXPECT_EQ(before.at("data").as_array()[0].at("state"), Json("idle"));
  EXPECT_EQ(before.at("data").as_array()[1].at("state"), Json("disabled"));
  const Json tools = ok(get("/v1/mcp/tools"));
  EXPECT_EQ(tools.at("data").as_array().size(), 11u);
  EXPECT_EQ(tools.at("data").as_array()[0].at("input_schema").at("type"), Json("object"));
  EXPECT_TRUE(tools.at("errors").as_array().empty());
  EXPECT_EQ(ok(get("/v1/mcp/servers")).at("data").as_array()[0].at("tools"), Json(11));
  EXPECT_TRUE(ok(get("/v1/mcp/resources")).at("data").as_array().empty()) << "the server has none";
  EXPECT_TRUE(ok(get("/v1/mcp/prompts")).at("data").as_array().empty());
  refused(get("/v1/mcp/wishes"), 404, "expected servers, tools, resources or prompts");
  refused(get("/v1/mcp/tools?server=x"), 404, "there is no MCP server 'x'");
  const Json r = ok(post("/v1/mcp/call", R"({"server": "notes", "tool": "echo", "arguments": {"text": "two"}})"));
  EXPECT_EQ(r.at("text"), Json("said: two"));
  EXPECT_EQ(r.at("content").as_array()[0].at("type"), Json("text"));
  EXPECT_EQ(ok(post("/v1/mcp/call", R"({"server": "notes", "tool": "fail"})")).at("is_error"), Json(true));
  refused(post("/v1/mcp/call", R"({"server": "notes", "tool": "eco"})"), 404, "did you mean 'echo'");
  refused(post("/v1/mcp/call", R"({"server": "nots", "tool": "echo"})"), 404, "did you mean 'notes'");
  refused(post("/v1/mcp/call", R"({"tool": "echo"})"), 400, "server");
  refused(post("/v1/mcp/call", R"({"server": "notes"})"), 400, "exactly one");
  refused(post("/v1/mcp/call", R"({"server": "notes", "tool": "silent", "timeout": 0.2})"), 504, "within 0.2 s");
  RawClient leaves(port());
  const std::string silent = R"({"server": "notes", "tool": "silent", "timeout": 600})";
  leaves.send(fmt::format("POST /v1/mcp/call HTTP/1.1\r\nContent-Length: {}\r\n\r\n{}", silent.size(), silent));
  eventually("the call runs", [&] { return app_->busy() == 1; });
  leaves.hang_up();
  eventually("it is given up", [&] { return app_->busy() == 0; });
  refused(post("/v1/mcp/call", R"({"server": "notes", "tool": "leave"})"), 502, "has ended");
  refused(post("/v1/mcp/call", R"({"server": "off", "tool": "echo"})"), 502, "disabled");
  refused(http(port(), "GET", "/v1/mcp/call"), 405, "POST");
}

TEST_F(McpChat, PagesOfOtherOriginsMayNotUseTools) {
  begin({.live = {.cors = {"https://good.example"}}});
  const char* call = R"({"server": "notes", "tool": "echo", "arguments": {"text": "one"}})";
  refused(post("/v1/mcp/call", call, "origin: https://evil.example\r\n"), 403, "evil.example");
  refused(post("/v1/mcp/call", call, "origin: null\r\n"), 403, "null");
  refused(post(kChat, asking("true"), "origin: https://evil.example\r\n"), 403, "evil.example");
  refused(http(port(), "GET", "/v1/mcp/tools", "", "origin: https://evil.example\r\n"), 403, "evil.example");
  ok(post("/v1/mcp/call", call, "origin: https://good.example\r\n"));
  ok(post("/v1/mcp/call", call));
}

}  // namespace
}  // namespace quern
