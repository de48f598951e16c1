// The streamable HTTP transport: our server by raw requests, our client against our server, and both against bad peers.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "quern/mcp/client/remote_server.h"
#include "quern/mcp/server/http_endpoint.h"
#include "tests/serve/raw_client.h"

namespace quern::mcp {
namespace {

constexpr const char* kHello =
    R"({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
  "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}})";

class Listening {
 public:
  explicit Listening(serve::HttpServer::Handler handler)
      : http_({.port = 0}, std::move(handler)), thread_([this] { http_.run(); }) {}
  ~Listening() { http_.stop(), thread_.join(); }
  int port() const { return http_.port(); }

 private:
  serve::HttpServer http_;
  std::jthread thread_;
};

class McpEndpoint : public testing::Test {
 protected:
  void begin(EndpointOptions options = {}) {
    server_.add_tool({.name = "double",
                      .title = "",
                      .description = "",
                      .input_schema = Json::parse(
                          R"({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})")},
                     [](const Json& a, CallContext& c) {
                       c.progress(1, 2, "");
                       return ToolResult::text(std::to_string(2 * a.at("n").as_int()));
                     });
    server_.add_tool(
        {.name = "wait", .title = "", .description = "", .input_schema = Json::parse(R"({"type": "object"})")},
        [this](const Json&, CallContext& c) {
          waiting_ = true;
          for (int i = 0; i < 2000 && !c.cancelled(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
          cancelled_ = c.cancelled();
          return ToolResult::text("waited");
        });
    endpoint_ = std::make_unique<HttpEndpoint>(server_, std::move(options));
    listening_ = std::make_unique<Listening>([this](serve::Exchange& e) { endpoint_->handle(e); });
  }
  RawAnswer post(const std::string& body, const std::string& headers = {}) {
    return http(listening_->port(), "POST", "/mcp", body, headers);
  }
  std::string session() {
    const RawAnswer a = post(kHello);
    EXPECT_EQ(a.status, 200) << a.body;
    const size_t at = a.head.find("mcp-session-id: ");
    if (at == a.head.npos) return ADD_FAILURE() << a.head, std::string();
    return "mcp-session-id: " + a.head.substr(at + 16, a.head.find("\r\n", at) - at - 16) + "\r\n";
  }
  static std::string call(const char* tool, const char* arguments, const char* meta = "{}") {
    return fmt::format(
        R"({{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {{"name": "{}", "arguments": {}, "_meta": {}}}}})",
        tool, arguments, meta);
  }

  std::atomic<bool> waiting_ = false, cancelled_ = false;
  Server server_{"0", ""};
  std::unique_ptr<HttpEndpoint> endpoint_;
  std::unique_ptr<Listening> listening_;
};

TEST_F(McpEndpoint, SessionsByHeader) {
  begin();
  const std::string s = session();
  EXPECT_EQ(post(R"({"jsonrpc": "2.0", "method": "notifications/initialized"})", s).status, 202);
  const Json j = Json::parse(post(call("double", R"({"n": 21})"), s).body);
  EXPECT_EQ(j.at("result").at("content").as_array()[0].at("text"), Json("42"));
  EXPECT_EQ(post(call("double", R"({"n": 21})")).status, 400) << "no session";
  EXPECT_EQ(post(call("double", R"({"n": 21})"), "mcp-session-id: invented\r\n").status, 404);
  EXPECT_EQ(post(call("double", R"({"n": 21})"), s + "mcp-protocol-version: 1.0\r\n").status, 400);
  EXPECT_EQ(post(call("double", R"({"n": 21})"), s + "mcp-protocol-version: 2025-06-18\r\n").status, 200);
  EXPECT_EQ(http(listening_->port(), "DELETE", "/mcp", "", s).status, 204);
  EXPECT_EQ(post(call("double", R"({"n": 21})"), s).status, 404) << "it has ended";
  EXPECT_NE(session(), session());
}

// A client that waits for an answer to its request finds it by its id.
TEST_F(McpEndpoint, RefusalsNameTheRequest) {
  begin();
  const std::string s = session();
  const auto id = [&](const std::string& body, const std::string& headers = {}) {
    const Json j = Json::parse(post(body, headers).body);
    EXPECT_NE(j.find("error"), nullptr) << j.dump();
    return j.at("id").dump();
  };
  EXPECT_EQ(id(call("double", R"({"n": 21})")), "5") << "no session";
  EXPECT_EQ(id(call("double", R"({"n": 21})"), "mcp-session-id: invented\r\n"), "5");
  EXPECT_EQ(id(call("double", R"({"n": 21})"), s + "mcp-protocol-version: 1.0\r\n"), "5");
  EXPECT_EQ(id(R"({"jsonrpc": "2.0", "id": "a", "method": "x", "params": 3})"), R"("a")") << "a request with a fault";
  EXPECT_EQ(id(R"({"jsonrpc": "2.0", "method": "notifications/initialized"})"), "null") << "no request";
  EXPECT_EQ(id(R"({"jsonrpc": "2.0", "id": 5, "result": {}})"), "null") << "the id is one of ours";
  EXPECT_EQ(id("{"), "null");
}

TEST_F(McpEndpoint, ProgressMakesAStream) {
  begin();
  const std::string s = session();
  const RawAnswer a = post(call("double", R"({"n": 4})", R"({"progressToken": 9})"),
                           s + "accept: application/json, text/event-stream\r\n");
  EXPECT_NE(a.head.find("text/event-stream"), a.head.npos) << a.head;
  EXPECT_LT(a.body.find("notifications/progress"), a.body.find(R"("text":"8")")) << a.body;
  const RawAnswer plain =
      post(call("double", R"({"n": 4})", R"({"progressToken": 9})"), s + "accept: application/json\r\n");
  EXPECT_EQ(Json::parse(plain.body).at("id"), Json(5)) << "a client that takes no stream gets the result";
}

TEST_F(McpEndpoint, WhatIsRefused) {
  begin();
  EXPECT_EQ(http(listening_->port(), "GET", "/mcp").status, 405);
  EXPECT_EQ(http(listening_->port(), "POST", "/other", kHello).status, 404);
  EXPECT_EQ(post("{").status, 400);
  EXPECT_EQ(post("[]").status, 400);
  EXPECT_EQ(post(R"({"jsonrpc": "2.0", "id": 1})").status, 400);
  EXPECT_EQ(post(kHello, "origin: https://evil.example\r\n").status, 403);
  EXPECT_EQ(post(kHello, "origin: null\r\n").status, 403);
  EXPECT_EQ(post(kHello, "origin: http://localhost:3000\r\n").status, 200);
  RawClient c(listening_->port());
  ASSERT_TRUE(c.send(fmt::format("POST /mcp HTTP/1.1\r\nhost: evil.example\r\ncontent-length: {}\r\n\r\n{}",
                                 std::string(kHello).size(), kHello)));
  EXPECT_NE(c.read_until("\r\n").find("403"), std::string::npos) << "a name that was made to point here";
}

TEST_F(McpEndpoint, KeysAndAllowedPages) {
  begin({.origins = {"https://good.example"}, .api_keys = {"right"}});
  EXPECT_EQ(post(kHello).status, 401);
  EXPECT_EQ(post(kHello, "authorization: Bearer wrong\r\n").status, 401);
  EXPECT_EQ(post(kHello, "authorization: Bearer right\r\n").status, 200);
  const RawAnswer page = post(kHello, "authorization: Bearer right\r\norigin: https://good.example\r\n");
  EXPECT_EQ(page.status, 200);
  EXPECT_NE(page.head.find("access-control-allow-origin: https://good.example"), page.head.npos) << page.head;
  const RawAnswer before = http(listening_->port(), "OPTIONS", "/mcp", "", "origin: https://good.example\r\n");
  EXPECT_EQ(before.status, 204) << "a browser asks without the key";
}

TEST_F(McpEndpoint, BatchesInTheVersionThatHasThem) {
  begin();
  const std::string two =
      R"([{"jsonrpc": "2.0", "id": 1, "method": "ping"}, {"jsonrpc": "2.0", "method": "x"}, {"id": 3}])";
  EXPECT_EQ(post(two, session()).status, 400);
  std::string hello = kHello;
  hello.replace(hello.find("2025-06-18"), 10, "2025-03-26");
  const RawAnswer a = post(hello);
  const size_t at = a.head.find("mcp-session-id: ");
  const RawAnswer both = post(two, a.head.substr(at, a.head.find("\r\n", at) - at) + "\r\n");
  ASSERT_EQ(both.status, 200) << both.body;
  EXPECT_EQ(Json::parse(both.body).as_array().size(), 2u) << both.body;
}

TEST_F(McpEndpoint, RequestsWithoutASession) {
  begin();
  const std::string meta =
      R"({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}})";
  const std::string headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\n";
  const RawAnswer a = post(call("double", R"({"n": 3})", meta.c_str()), headers + "mcp-name: double\r\n");
  ASSERT_EQ(a.status, 200) << a.body;
  EXPECT_EQ(Json::parse(a.body).at("result").at("resultType"), Json("complete"));
  EXPECT_EQ(a.head.find("mcp-session-id"), a.head.npos);
  EXPECT_EQ(post(call("double", R"({"n": 3})", meta.c_str()), headers + "mcp-name: wait\r\n").status, 400);
  EXPECT_EQ(post(call("double", R"({"n": 3})", meta.c_str()), "mcp-method: tools/call\r\n").status, 400);
  EXPECT_EQ(post(call("triple", R"({"n": 3})", meta.c_str()), headers + "mcp-name: triple\r\n").status, 400);
}

TEST_F(McpEndpoint, CancelledByAnotherRequestOrByLeaving) {
  begin();
  const std::string s = session();
  std::jthread slow([&] { post(call("wait", "{}"), s); });
  for (int i = 0; i < 2000 && !waiting_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(post(R"({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}})", s).status,
            202);
  slow.join();
  EXPECT_TRUE(cancelled_);
  cancelled_ = waiting_ = false;
  {
    RawClient c(listening_->port());
    const std::string body = call("wait", "{}");
    c.send(
        fmt::format("POST /mcp HTTP/1.1\r\nhost: localhost\r\n{}content-length: {}\r\n\r\n{}", s, body.size(), body));
    for (int i = 0; i < 2000 && !waiting_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    c.hang_up();
  }
  for (int i = 0; i < 2000 && !cancelled_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(cancelled_);
}

TEST_F(McpEndpoint, OurClientAgainstOurServer) {
  begin({.api_keys = {"k1234567"}});
  ServerConfig c{.name = "own", .url = fmt::format("http://127.0.0.1:{}/mcp", listening_->port())};
  c.headers = {{"Authorization", "Bearer k1234567"}};
  RemoteServer s(c, "0");
  EXPECT_EQ(s.tools().size(), 2u);
  double done = 0;
  Json n = Json::object();
  n.set("n", 8);
  EXPECT_EQ(s.call("double", n, {.progress = [&](double d, double, const std::string&) { done = d; }}).text, "16");
  EXPECT_EQ(done, 1);
  EXPECT_TRUE(s.call("double", Json::object(), {}).is_error);
  EXPECT_THROW(s.call("wait", Json::object(), {.seconds = 0.2}), ClientError);
  for (int i = 0; i < 2000 && !cancelled_; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(cancelled_) << "a call that timed out is not worked on";
  endpoint_ =
      std::make_unique<HttpEndpoint>(server_, EndpointOptions{.api_keys = {"k1234567"}});  // as after a restart
  EXPECT_EQ(s.call("double", n, {}).text, "16") << "a session that the server forgot is begun again";
  EXPECT_EQ(s.status().starts, 2);
  c.headers = {};
  RemoteServer locked_out(c, "0");
  try {
    locked_out.tools();
    ADD_FAILURE() << "should have failed";
  } catch (const ClientError& e) {
    EXPECT_NE(std::string(e.what()).find("401"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("check the headers"), std::string::npos) << e.what();
  }
}

TEST(McpHttpClient, BadServers) {
  std::atomic<int> what = 0;
  Listening bad([&](serve::Exchange& e) {
    switch (what) {
      case 0:
        return e.answer(200, "application/json", "<html>");
      case 1:
        return e.answer(302, "", "");
      case 2:
        return e.answer(500, "text/plain", "trouble");
      case 3:
        e.begin(200, "text/event-stream");
        e.write(": nothing\n\ndata: {\"jsonrpc\": \"2.0\", \"id\": 77, \"result\": {}}\n\n");
        return e.end();
      case 4:
        return e.answer(202, "", "");
      default:
        for (int i = 0; i < 100 && !e.gone(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return e.answer(202, "", "");
    }
  });
  for (what = 0; what < 6; ++what) {
    ServerConfig c{.name = "bad", .url = fmt::format("http://127.0.0.1:{}/", bad.port()), .start_seconds = 0.4};
    RemoteServer s(c, "0");
    EXPECT_THROW(s.tools(), ClientError) << what;
  }
  RemoteServer absent({.name = "absent", .url = "http://127.0.0.1:1/mcp"}, "0");
  EXPECT_THROW(absent.tools(), ClientError);
}

}  // namespace
}  // namespace quern::mcp
