// JSON-RPC messages, lines and events, whole and in pieces, good and bad.
#include <gtest/gtest.h>

#include "quern/mcp/protocol/event_reader.h"
#include "quern/mcp/protocol/message.h"
#include "quern/mcp/protocol/versions.h"

namespace quern::mcp {
namespace {

int64_t code_of(const std::string& text) {
  try {
    read_message(parse_text(text));
  } catch (const RpcError& e) {
    return e.code;
  }
  return 0;
}

TEST(McpMessage, KindsAreToldApart) {
  const Message request =
      read_message(parse_text(R"({"jsonrpc": "2.0", "id": "a", "method": "x", "params": {"k": 1}})"));
  EXPECT_EQ(request.kind, Message::Kind::request);
  EXPECT_EQ(request.id, Json("a"));
  EXPECT_EQ(request.params.at("k"), Json(1));
  const Message note = read_message(parse_text(R"({"jsonrpc": "2.0", "method": "notifications/x"})"));
  EXPECT_EQ(note.kind, Message::Kind::notification);
  EXPECT_TRUE(note.params.is_object());
  const Message answer = read_message(parse_text(R"({"jsonrpc": "2.0", "id": 3, "result": {}})"));
  EXPECT_EQ(answer.kind, Message::Kind::response);
  const Message error = read_message(
      parse_text(R"({"jsonrpc": "2.0", "id": null, "error": {"code": -5, "message": "m", "data": [1]}})"));
  ASSERT_TRUE(error.error);
  EXPECT_EQ(error.error->code, -5);
  EXPECT_EQ(error.error->data, Json(Json::Array{Json(1)}));
}

TEST(McpMessage, WhatIsNoMessageIsRefused) {
  const auto invalid = static_cast<int64_t>(RpcCode::invalid_request);
  EXPECT_EQ(code_of("{"), static_cast<int64_t>(RpcCode::parse_error));
  EXPECT_EQ(code_of("\xff"), static_cast<int64_t>(RpcCode::parse_error));
  for (const char* text :
       {"3", "[]", "{}", R"({"id": 1, "method": "x"})", R"({"jsonrpc": "1.0", "id": 1, "method": "x"})",
        R"({"jsonrpc": "2.0", "id": null, "method": "x"})", R"({"jsonrpc": "2.0", "id": 1.5, "method": "x"})",
        R"({"jsonrpc": "2.0", "id": true, "method": "x"})", R"({"jsonrpc": "2.0", "id": 1, "method": 3})",
        R"({"jsonrpc": "2.0", "id": 1, "method": ""})",
        R"({"jsonrpc": "2.0", "id": 1, "method": "x", "params": [1]})",
        R"({"jsonrpc": "2.0", "id": 1, "method": "x", "result": {}})", R"({"jsonrpc": "2.0", "id": 1})",
        R"({"jsonrpc": "2.0", "result": {}})", R"({"jsonrpc": "2.0", "id": 1, "result": 7})",
        R"({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": ""}})",
        R"({"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": ""}})",
        R"({"jsonrpc": "2.0", "id": 1, "error": "no"})"})
    EXPECT_EQ(code_of(text), invalid) << text;
}

TEST(McpMessage, WrittenMessagesAreRead) {
  const Message m = read_message(parse_text(request_json(7, "tools/call", Json::object()).dump()));
  EXPECT_EQ(m.method, "tools/call");
  EXPECT_EQ(m.id, Json(7));
  const Message e = read_message(error_json(7, RpcError(RpcCode::busy, "later", Json("d"))));
  EXPECT_TRUE(e.error && e.error->is(RpcCode::busy));
  EXPECT_EQ(read_message(result_json("q", Json::object())).id, Json("q"));
  EXPECT_EQ(read_message(notification_json("n", Json::object())).kind, Message::Kind::notification);
}

TEST(McpVersions, AnUnknownOneIsAnsweredWithTheNewest) {
  EXPECT_EQ(agreed_version("2024-11-05"), "2024-11-05");
  EXPECT_EQ(agreed_version("2025-06-18"), "2025-06-18");
  EXPECT_EQ(agreed_version("1999-01-01"), "2025-11-25");
  EXPECT_EQ(agreed_version("2026-07-28"), "2025-11-25") << "it has no handshake";
}

std::vector<std::string> lines_of(std::string_view bytes, size_t step, size_t limit) {
  LineReader r(limit);
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    r.feed(bytes.substr(at, step));
    while (const auto line = r.next()) out.push_back(line->too_long ? "(too long)" : line->text);
  }
  return out;
}

TEST(McpLines, InPiecesAsWhole) {
  const std::string text = "one\r\n\n" + std::string(50, 'x') + "\ntwo\n" + std::string(9, 'y') + "\nrest";
  const std::vector<std::string> wanted = {"one", "", "(too long)", "two", std::string(9, 'y')};
  for (const size_t step : {1, 2, 3, 7, 100}) EXPECT_EQ(lines_of(text, step, 10), wanted) << step;
}

TEST(McpLines, AnEndlessLineTakesNoMemory) {
  LineReader r(1000);
  const std::string piece(4096, 'z');
  int reported = 0;
  for (int i = 0; i < 1000; ++i) {
    r.feed(piece);
    while (const auto line = r.next()) reported += line->too_long;
  }
  EXPECT_EQ(reported, 1);
  r.feed("\nafter\n");
  EXPECT_EQ(r.next()->text, "after");
}

std::vector<std::string> events_of(std::string_view bytes, size_t step) {
  EventReader r(100);
  std::vector<std::string> out;
  for (size_t at = 0; at < bytes.size(); at += step) {
    r.feed(bytes.substr(at, step));
    while (const auto e = r.next()) out.push_back(e->event + "|" + e->data);
  }
  return out;
}

TEST(McpEvents, InPiecesAsWhole) {
  const std::string text =
      ": comment\n\ndata: a\n\nevent: message\r\ndata: b\r\ndata:c\r\n\r\nid: 3\n\nevent: x\ndata\n\ndata: left";
  const std::vector<std::string> wanted = {"|a", "message|b\nc", "x|"};
  for (const size_t step : {1, 3, 5, 200}) EXPECT_EQ(events_of(text, step), wanted) << step;
}

TEST(McpEvents, TooLongIsAnError) {
  EXPECT_THROW(events_of("data: " + std::string(200, 'x') + "\n\n", 7), Error);
  std::string many;
  for (int i = 0; i < 50; ++i) many += "data: 0123456789\n";
  EXPECT_THROW(events_of(many, 7), Error);
}

}  // namespace
}  // namespace quern::mcp
