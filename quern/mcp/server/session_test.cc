// Sessions: the handshake, every method, pages, errors, progress, cancellation, and requests without a handshake.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "quern/mcp/protocol/versions.h"
#include "quern/mcp/server/server.h"

namespace quern::mcp {
namespace {

class Notes final : public ResourceSource {
 public:
  std::vector<ResourceInfo> list() override {
    std::vector<ResourceInfo> all;
    for (int i = 0; i < 250; ++i) all.push_back({.uri = fmt::format("note:{}", i), .name = fmt::format("{}", i)});
    return all;
  }
  std::vector<ResourceTemplate> templates() override { return {{.uri_template = "note:{n}", .name = "note"}}; }
  std::optional<ResourceText> read(const std::string& uri) override {
    if (!uri.starts_with("note:")) return std::nullopt;
    return ResourceText{.text = "text of " + uri};
  }
};

class Heard final : public Outlet {
 public:
  void notify(const Json& m) override { messages.push_back(m); }
  void keep_alive() override { ++alive; }
  bool gone() const override { return left; }
  std::vector<Json> messages;
  int alive = 0;
  std::atomic<bool> left = false;
};

class McpSession : public testing::Test {
 protected:
  McpSession() : server_("1.2.3", "how to use it") {
    server_.add_tool({.name = "add",
                      .title = "Add",
                      .description = "adds",
                      .input_schema = Json::parse(R"({"type": "object", "properties": {"a": {"type": "integer"},
                        "b": {"type": "integer"}}, "required": ["a", "b"], "additionalProperties": false})"),
                      .read_only = true},
                     [](const Json& a, CallContext& c) {
                       if (a.at("a").as_int() == 13) fail("13 brings no luck; take 14");
                       c.progress(1, 2, "half"), c.log(LogLevel::error, "adding"), c.log(LogLevel::info, "quietly");
                       return ToolResult::text(std::to_string(a.at("a").as_int() + a.at("b").as_int()));
                     });
    server_.add_tool(
        {.name = "wait", .title = "", .description = "", .input_schema = Json::parse(R"({"type": "object"})")},
        [this](const Json&, CallContext& c) {
          waiting_ = true;
          for (int i = 0; i < 2000 && !c.cancelled(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          return ToolResult::text(c.cancelled() ? "cancelled" : "waited");
        });
    server_.add_resources(std::make_shared<Notes>());
    server_.add_prompt(
        {.name = "ask", .title = "", .description = "", .arguments = {{"q", "question", true}}}, [](const Json& a) {
          return PromptResult{.description = "", .messages = {{"user", "Q: " + a.at("q").as_string()}}};
        });
  }

  Json ask(Session& s, const std::string& method, const std::string& params = "{}") {
    const auto reply = s.handle(read_message(request_json(++id_, method, Json::parse(params))), heard_);
    EXPECT_TRUE(reply) << method;
    return reply ? *reply : Json::object();
  }
  Json result(Session& s, const std::string& method, const std::string& params = "{}") {
    const Json reply = ask(s, method, params);
    EXPECT_TRUE(reply.find("result")) << reply.dump();
    return reply.find("result") ? reply.at("result") : Json::object();
  }
  void refused(Session& s, RpcCode code, const std::string& word, const std::string& method,
               const std::string& params = "{}") {
    const Json reply = ask(s, method, params);
    ASSERT_TRUE(reply.find("error")) << reply.dump();
    EXPECT_EQ(reply.at("error").at("code"), Json(static_cast<int64_t>(code))) << reply.dump();
    EXPECT_NE(reply.at("error").at("message").as_string().find(word), std::string::npos) << reply.dump();
  }
  Json greet(Session& s, const std::string& version = "2025-06-18") {
    return result(
        s, "initialize",
        fmt::format(
            R"({{"protocolVersion": "{}", "capabilities": {{}}, "clientInfo": {{"name": "t", "version": "0"}}}})",
            version));
  }

  std::atomic<bool> waiting_ = false;
  Server server_;
  Heard heard_;
  int id_ = 0;
};

TEST_F(McpSession, TheHandshakeComesFirst) {
  Session s(server_);
  EXPECT_EQ(result(s, "ping"), Json::object());
  refused(s, RpcCode::invalid_request, "initialize", "tools/list");
  refused(s, RpcCode::invalid_params, "protocolVersion", "initialize");
  refused(s, RpcCode::invalid_params, "clientInfo", "initialize", R"({"protocolVersion": "2025-06-18"})");
  EXPECT_FALSE(s.initialized());
  const Json hello = greet(s);
  EXPECT_EQ(hello.at("protocolVersion"), Json("2025-06-18"));
  EXPECT_EQ(hello.at("serverInfo").at("version"), Json("1.2.3"));
  EXPECT_EQ(hello.at("instructions"), Json("how to use it"));
  for (const char* what : {"tools", "resources", "prompts", "logging"})
    EXPECT_TRUE(hello.at("capabilities").find(what));
  refused(s, RpcCode::invalid_request, "already", "initialize",
          R"({"protocolVersion": "x", "capabilities": {}, "clientInfo": {}})");
  for (const std::string_view v : kHandshakeVersions) {
    Session other(server_);
    EXPECT_EQ(greet(other, std::string(v)).at("protocolVersion"), Json(v));
  }
  Session old(server_);
  EXPECT_EQ(greet(old, "1.0").at("protocolVersion"), Json(kNewestHandshake));
}

TEST_F(McpSession, ToolsAreListedAndCalled) {
  Session s(server_);
  greet(s);
  const Json::Array tools = result(s, "tools/list").at("tools").as_array();
  ASSERT_EQ(tools.size(), 2u);
  EXPECT_EQ(tools[0].at("inputSchema").at("type"), Json("object"));
  EXPECT_EQ(tools[0].at("annotations").at("readOnlyHint"), Json(true));
  const Json sum = result(s, "tools/call", R"({"name": "add", "arguments": {"a": 2, "b": 3}})");
  EXPECT_EQ(sum.at("isError"), Json(false));
  EXPECT_EQ(sum.at("content").as_array()[0].at("text"), Json("5"));
  const Json wrong = result(s, "tools/call", R"({"name": "add", "arguments": {"a": "2", "b": 3}})");
  EXPECT_EQ(wrong.at("isError"), Json(true)) << "a model can correct this";
  EXPECT_NE(wrong.dump().find("/a"), std::string::npos) << wrong.dump();
  const Json unlucky = result(s, "tools/call", R"({"name": "add", "arguments": {"a": 13, "b": 3}})");
  EXPECT_EQ(unlucky.at("isError"), Json(true));
  EXPECT_EQ(unlucky.at("content").as_array()[0].at("text"), Json("13 brings no luck; take 14"));
  refused(s, RpcCode::invalid_params, "did you mean 'add'", "tools/call", R"({"name": "ad"})");
  refused(s, RpcCode::invalid_params, "name", "tools/call");
  refused(s, RpcCode::invalid_params, "arguments", "tools/call", R"({"name": "add", "arguments": [1]})");
  refused(s, RpcCode::method_not_found, "tools/burn", "tools/burn");
  refused(s, RpcCode::method_not_found, "completion", "completion/complete");
}

TEST_F(McpSession, ListsComeInPages) {
  Session s(server_);
  greet(s);
  std::vector<std::string> uris;
  std::string cursor;
  for (int pages = 0; pages < 10; ++pages) {
    const Json j = result(s, "resources/list", cursor.empty() ? "{}" : fmt::format(R"({{"cursor": "{}"}})", cursor));
    for (const Json& r : j.at("resources").as_array()) uris.push_back(r.at("uri").as_string());
    const Json* next = j.find("nextCursor");
    if (!next) break;
    cursor = next->as_string();
  }
  ASSERT_EQ(uris.size(), 250u);
  EXPECT_EQ(uris.front(), "note:0");
  EXPECT_EQ(uris.back(), "note:249");
  for (const char* bad : {"x", "-1", "251", "99999999999999999999999", ""})
    refused(s, RpcCode::invalid_params, "cursor", "resources/list", fmt::format(R"({{"cursor": "{}"}})", bad));
  EXPECT_EQ(result(s, "resources/templates/list").at("resourceTemplates").as_array().size(), 1u);
}

TEST_F(McpSession, ResourcesAndPrompts) {
  Session s(server_);
  greet(s);
  EXPECT_EQ(result(s, "resources/read", R"({"uri": "note:7"})").at("contents").as_array()[0].at("text"),
            Json("text of note:7"));
  refused(s, RpcCode::resource_not_found, "file:x", "resources/read", R"({"uri": "file:x"})");
  const Json p = result(s, "prompts/get", R"({"name": "ask", "arguments": {"q": "why"}})");
  EXPECT_EQ(p.at("messages").as_array()[0].at("content").at("text"), Json("Q: why"));
  refused(s, RpcCode::invalid_params, "needs it", "prompts/get", R"({"name": "ask"})");
  refused(s, RpcCode::invalid_params, "no such argument", "prompts/get",
          R"({"name": "ask", "arguments": {"q": "a", "z": "b"}})");
  refused(s, RpcCode::invalid_params, "did you mean 'ask'", "prompts/get", R"({"name": "asks"})");
}

TEST_F(McpSession, ProgressAndLogsGoToWhoAskedForThem) {
  Session s(server_);
  greet(s);
  result(s, "tools/call", R"({"name": "add", "arguments": {"a": 1, "b": 1}})");
  ASSERT_EQ(heard_.messages.size(), 1u) << "no token: no progress; the level is warning";
  EXPECT_EQ(heard_.messages[0].at("params").at("data"), Json("adding"));
  EXPECT_EQ(heard_.alive, 1);
  heard_.messages.clear();
  refused(s, RpcCode::invalid_params, "level", "logging/setLevel", R"({"level": "loud"})");
  result(s, "logging/setLevel", R"({"level": "emergency"})");
  result(s, "tools/call", R"({"name": "add", "arguments": {"a": 1, "b": 1}, "_meta": {"progressToken": "t"}})");
  ASSERT_EQ(heard_.messages.size(), 1u);
  EXPECT_EQ(heard_.messages[0].at("method"), Json("notifications/progress"));
  EXPECT_EQ(heard_.messages[0].at("params").at("progressToken"), Json("t"));
  EXPECT_EQ(heard_.messages[0].at("params").at("total"), Json(2.0));
}

TEST_F(McpSession, ACancelledCallHasNoAnswer) {
  Session s(server_);
  greet(s);
  std::optional<Json> reply = Json("not yet");
  std::jthread call([&] {
    Heard own;
    reply = s.handle(read_message(request_json("slow", "tools/call", Json::parse(R"({"name": "wait"})"))), own);
  });
  for (int i = 0; i < 2000 && !waiting_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(s.running(), 1);
  const Json twice = *s.handle(read_message(request_json("slow", "tools/list", Json::object())), heard_);
  EXPECT_NE(twice.dump().find("is running"), std::string::npos) << "an id stands for one request";
  s.handle(read_message(notification_json("notifications/cancelled", Json::parse(R"({"requestId": "other"})"))),
           heard_);
  s.handle(read_message(notification_json("notifications/cancelled", Json::parse(R"({"requestId": "slow"})"))),
           heard_);
  call.join();
  EXPECT_FALSE(reply);
  EXPECT_EQ(s.running(), 0);
}

TEST_F(McpSession, RequestsThatCarryTheirVersion) {
  Session s(server_);
  const std::string meta =
      R"("_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})";
  const Json found = result(s, "server/discover", "{" + meta + "}");
  EXPECT_EQ(found.at("supportedVersions").as_array()[0], Json("2026-07-28"));
  EXPECT_EQ(found.at("resultType"), Json("complete"));
  EXPECT_EQ(found.at("cacheScope"), Json("private"));
  const Json sum = result(s, "tools/call", R"({"name": "add", "arguments": {"a": 2, "b": 3}, )" + meta + "}");
  EXPECT_EQ(sum.at("content").as_array()[0].at("text"), Json("5"));
  EXPECT_EQ(sum.at("resultType"), Json("complete"));
  EXPECT_TRUE(heard_.messages.empty()) << "it asked for no logs";
  EXPECT_FALSE(s.initialized());
  refused(s, RpcCode::unsupported_version, "not supported", "tools/list",
          R"({"_meta": {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}})");
  refused(s, RpcCode::invalid_params, "clientCapabilities", "tools/list",
          R"({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}})");
  refused(s, RpcCode::method_not_found, "discover_all", "server/discover_all", "{" + meta + "}");
}

TEST(McpUri, EscapesComeBack) {
  for (const char* text : {"a b/ü.md", "100%", "q?x#y", "plain"}) EXPECT_EQ(uri_unescaped(uri_escaped(text)), text);
  EXPECT_EQ(uri_escaped("a b?/c"), "a%20b%3F/c");
  EXPECT_EQ(uri_unescaped("a%2"), "a%2");
  EXPECT_EQ(uri_unescaped("%zz"), "%zz");
}

}  // namespace
}  // namespace quern::mcp
