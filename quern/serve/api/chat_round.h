// One round of a chat with tools: an Exchange that passes an answer on to the client and keeps back how it ends, since
// only the rounds know whether that is the end.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/mcp/protocol/event_reader.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/tools/tools.h"

namespace quern::serve {

// The client's stream over all rounds.
class RoundsStream {
 public:
  explicit RoundsStream(Exchange& e) : exchange_(e) {}
  bool begun() const { return begun_; }
  void begin(std::string_view content_type);
  bool send(Json chunk);  // under the id of the first chunk
  bool send_raw(std::string_view text) { return exchange_.write(text); }
  // A chunk without choices, with `value` as x_mcp.
  bool tell(Json value);
  void done();

 private:
  Exchange& exchange_;
  bool begun_ = false;
  Json id_, first_;  // first_: members that every chunk begins with
};

class ChatRound final : public Exchange {
 public:
  enum class Place { first, later };
  ChatRound(Exchange& client, RoundsStream& stream, Place place);
  ~ChatRound() override;  // what it used is the client's request's
  ChatRound(const ChatRound&) = delete;
  ChatRound& operator=(const ChatRound&) = delete;

  const HttpRequest& request() const override { return client_.request(); }
  void below(std::string_view prefix) override { client_.below(prefix); }
  bool gone() const override { return client_.gone(); }
  void when_gone(std::function<void()> then) override { client_.when_gone(std::move(then)); }
  void header(std::string name, std::string value) override;
  void answer(int status, std::string_view content_type, std::string_view body) override;
  void begin(int status, std::string_view content_type) override;
  bool write(std::string_view data) override;
  void end() override {}
  int status() const override { return status_; }

  const std::vector<ToolCall>& calls() const { return calls_; }
  bool wants_calls() const { return finish_ == "tool_calls"; }  // it ended with calls, and was not cut off
  const std::string& content() const { return content_; }
  const std::string& reasoning() const { return reasoning_; }
  const Json& usage() const { return usage_; }
  bool failed() const { return failed_; }
  const std::string& body() const { return body_; }        // of an answer that is not streamed
  const std::vector<Json>& held() const { return held_; }  // chunks of calls and of the end
  Json message() const;                                    // the assistant's, for the history

 private:
  bool take_chunk(const Json& chunk);
  void take_message(const Json& answer);
  void take_call_deltas(const Json& deltas);
  Exchange& client_;
  RoundsStream& stream_;
  Place place_;
  int status_ = 0;
  bool failed_ = false;
  mcp::EventReader events_;
  std::vector<ToolCall> calls_;
  std::string content_, reasoning_, finish_, body_;
  Json usage_;
  std::vector<Json> held_;
};

}  // namespace quern::serve
