// Configuration files, URLs and HTTP replies, good and bad.
#include <gtest/gtest.h>

#include "quern/mcp/client/config.h"
#include "quern/mcp/client/http_call.h"
#include "quern/mcp/client/remote_server.h"

namespace quern::mcp {
namespace {

std::vector<ServerConfig> read(const std::string& text, std::vector<std::string>& notes) {
  const Environment environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "TOKEN") return "abcd1234";
    return std::nullopt;
  };
  return read_servers(Json::parse(text), "f.json", environment, notes);
}

std::string refusal(const std::string& servers) {
  std::vector<std::string> notes;
  try {
    read(R"({"mcpServers": )" + servers + "}", notes);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(McpConfig, TheCommonForm) {
  std::vector<std::string> notes;
  const auto all = read(R"({"mcpServers": {
    "files": {"command": "python3", "args": ["s.py", "${TOKEN}"], "env": {"K": "${env:TOKEN}", "D": "${X:-none}"}, "cwd": "/tmp",
              "timeout": 5, "autoApprove": []},
    "web": {"type": "http", "url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
    "off": {"command": "${UNSET}", "disabled": true}}})",
                        notes);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].args, (std::vector<std::string>{"s.py", "abcd1234"}));
  EXPECT_EQ(all[0].env, (std::vector<std::pair<std::string, std::string>>{{"K", "abcd1234"}, {"D", "none"}}));
  EXPECT_EQ(all[0].cwd, "/tmp");
  EXPECT_EQ(all[0].call_seconds, 5);
  EXPECT_TRUE(all[1].over_http());
  EXPECT_EQ(all[1].headers[0].second, "Bearer abcd1234");
  EXPECT_TRUE(all[2].disabled) << "its variables need not be set";
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("autoApprove"), std::string::npos);
  EXPECT_EQ(all[1].without_secrets("Bearer abcd1234 and abcd1234"), "*** and ***");
  const auto argument = read(R"({"mcpServers": {"a": {"command": "x", "args": ["--token=${TOKEN}"]}}})", notes);
  EXPECT_EQ(argument[0].without_secrets("unknown option --token=abcd1234"), "unknown option --token=***");
}

TEST(McpConfig, MistakesAreNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"([])", "mcpServers"},
      {R"({"a": 3})", "a: expected an object"},
      {R"({"a": {}})", "either a command or a url"},
      {R"({"a": {"command": "x", "url": "http://h/"}})", "either a command or a url"},
      {R"({"a": {"url": "https://h/mcp"}})", "https is not supported"},
      {R"({"a": {"url": "h/mcp"}})", "expected a url"},
      {R"({"a": {"url": "http://h/", "type": "sse"}})", "HTTP+SSE"},
      {R"({"a": {"url": "http://h/", "type": "stdio"}})", "does not go with"},
      {R"({"a": {"command": "x", "type": "carrier"}})", "'carrier' is unknown"},
      {R"({"a": {"command": "x", "args": "y"}})", "args"},
      {R"({"a": {"command": "x", "args": ["${GONE}"]}})", "the variable GONE is not set"},
      {R"({"a": {"command": "x", "env": {"A=B": "c"}}})", "'A=B' is not a name"},
      {R"({"a": {"url": "http://h/", "headers": {"X": "a\r\nb"}}})", "a value of one line"},
      {R"({"a": {"command": "x", "timeout": 0}})", "timeout"},
      {R"({"a b": {"command": "x"}})", "the name 'a b'"},
      {R"({"a.b": {"command": "x"}, "a": {"command": "x"}})", "the names 'a.b' and 'a'"}};
  for (const auto& [servers, word] : cases)
    EXPECT_NE(refusal(servers).find(word), std::string::npos) << refusal(servers);
}

TEST(McpUrl, Parts) {
  const HttpUrl u = parse_url("http://example.org:81/a/b?c=d#e");
  EXPECT_EQ(u.host + "|" + u.port + "|" + u.path, "example.org|81|/a/b?c=d");
  EXPECT_EQ(u.authority(), "example.org:81");
  const HttpUrl v6 = parse_url("http://[::1]:8080");
  EXPECT_EQ(v6.host + "|" + v6.port + "|" + v6.path + "|" + v6.authority(), "::1|8080|/|[::1]:8080");
  EXPECT_EQ(parse_url("http://h?q").path, "/?q");
  for (const char* bad : {"http://", "http://h:x/", "http://h:123456/", "http://u@h/", "http://h/a b", "ftp://h"})
    EXPECT_THROW(parse_url(bad), Error) << bad;
}

std::string body_of(std::string_view reply, size_t step, int& status) {
  HttpReplyReader r;
  std::string body;
  for (size_t at = 0; at < reply.size(); at += step) body += r.feed(reply.substr(at, step));
  r.closed();
  status = r.status();
  return body;
}

TEST(McpHttpReply, EveryFormInPieces) {
  const std::pair<const char*, const char*> cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nT: x\r\n\r\n", "hello"},
      {"HTTP/1.0 200 OK\r\n\r\nhello", "hello"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""},
      {"HTTP/1.1 200 \r\nX: y\r\ncontent-length:  2 \r\n\r\nok", "ok"}};
  for (const auto& [reply, wanted] : cases)
    for (const size_t step : {1, 2, 7, 1000}) {
      int status = 0;
      EXPECT_EQ(body_of(reply, step, status), wanted) << reply;
      EXPECT_EQ(status, 200);
    }
}

TEST(McpHttpReply, WhatIsNotHttp) {
  int status = 0;
  for (const char* bad : {"hello\r\n\r\n", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 2x0 OK\r\n\r\n",
                          "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
                          "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"})
    EXPECT_THROW(body_of(bad, 3, status), Error) << bad;
  HttpReplyReader r;
  EXPECT_THROW(r.feed(std::string(200'000, 'x')), Error);
}

TEST(McpResult, WhatAModelReads) {
  const RemoteResult r = read_result(Json::parse(R"({"content": [{"type": "text", "text": "a"},
    {"type": "image", "mimeType": "image/png", "data": "xx"}, {"type": "resource", "resource": {"uri": "f:1", "text": "inner"}},
    {"type": "resource_link", "uri": "f:2"}], "structuredContent": {"k": 1}})"));
  EXPECT_EQ(r.text, "a\n[image, image/png, not readable here]\ninner\n[resource f:2]");
  EXPECT_EQ(r.structured.at("k"), Json(1));
  EXPECT_EQ(read_result(Json::parse(R"({"content": [], "structuredContent": {"k": 1}})")).text, R"({"k":1})");
  EXPECT_THROW(read_result(Json::parse(R"({"content": [3]})")), ClientError);
  EXPECT_THROW(read_result(Json::object()), ClientError);
}

}  // namespace
}  // namespace quern::mcp
