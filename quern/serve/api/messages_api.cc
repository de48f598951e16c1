// Writes Anthropic responses: content blocks at once, or as start, delta and stop events.
#include "quern/serve/api/messages_api.h"

#include <span>

#include "quern/models/fingerprint.h"
#include "quern/serve/api/reply.h"
#include "quern/serve/chat/chat_turn.h"

namespace quern::serve {
namespace {

Json block_of(const char* type) {
  Json j = Json::object();
  j.set("type", type);
  return j;
}

Json text_block(const std::string& text) {
  Json j = block_of("text");
  j.set("text", text);
  return j;
}
// Clients hand thinking back with its signature. This server takes it back without: the signature says only which text it
// belongs to.
std::string signature_of(const std::string& thinking) {
  return fmt::format("{:016x}", models::content_hash(std::as_bytes(std::span(thinking))));
}
Json thinking_block(const std::string& text) {
  Json j = block_of("thinking");
  j.set("thinking", text), j.set("signature", text.empty() ? std::string() : signature_of(text));
  return j;
}
Json tool_block(const std::string& id, const std::string& name, Json input) {
  Json j = block_of("tool_use");
  j.set("id", id), j.set("name", name), j.set("input", std::move(input));
  return j;
}

// What the cache knew is counted apart from the input.
Json usage_json(const Usage& u) {
  Json j = Json::object();
  j.set("input_tokens", u.prompt - u.cached), j.set("cache_creation_input_tokens", int64_t{0});
  j.set("cache_read_input_tokens", u.cached), j.set("output_tokens", u.completion);
  return j;
}

class MessageReply final : public Reply {
 public:
  MessageReply(ServedModel& m, Exchange& e, const Grounded& found, ChatRequest r)
      : Reply(m, e, "msg_"), found_(found), r_(std::move(r)), turn_(m_, r_, e) {}

 private:
  void go() override { r_.stream ? stream() : answer(); }

  void answer() {
    if (!turn_.follow(nullptr, {})) return;
    const ChatChoice& c = turn_.choices()[0];
    Json blocks = Json::array(), j = head();
    if (!c.reasoning.empty()) blocks.push(thinking_block(c.reasoning));
    if (!c.content.empty() || c.calls().empty()) blocks.push(text_block(c.content));
    for (const ToolCall& call : c.calls()) blocks.push(tool_block(call.id, call.name, Json::parse(call.arguments)));
    j.set("content", std::move(blocks));
    set_end(j, c);
    j.set("usage", usage_json(turn_.usage()));
    if (!c.warnings.empty()) j.set("x_warnings", warnings(c.warnings));
    found_.tell(j), said_ = c.content;
    e_.answer(200, "application/json", j.dump());
  }

  Json head() const {
    Json j = Json::object();
    j.set("id", id_), j.set("type", "message"), j.set("role", "assistant"), j.set("model", m_.id);
    return j;
  }
  static Json warnings(const std::vector<std::string>& texts) {
    Json list = Json::array();
    for (const std::string& t : texts) list.push(t);
    return list;
  }
  void set_end(Json& j, const ChatChoice& c) const {
    const std::string finish = c.finish(), stop = c.stopped_by(m_.tokenizer, r_.options.stop);
    const bool cut = Fields(found_.body).integer("max_tokens", 1, int64_t{1} << 31) > r_.options.max_tokens;
    j.set("stop_reason", finish == "tool_calls" ? "tool_use"
                         : finish == "length"   ? (cut ? "model_context_window_exceeded" : "max_tokens")
                         : stop.empty()         ? "end_turn"
                                                : "stop_sequence");
    j.set("stop_sequence", stop.empty() ? Json() : Json(stop));
  }

  bool send(Json j) {
    const std::string type = j.at("type").as_string();
    return stream_->send(type, j);
  }

  void stream() {
    stream_.emplace(e_);
    Json start = block_of("message_start"), m = head();
    m.set("content", Json::array()), m.set("stop_reason", Json()), m.set("stop_sequence", Json());
    m.set("usage", usage_json({.prompt = static_cast<int64_t>(r_.prompt.size())}));
    found_.tell(m);
    start.set("message", std::move(m));
    send(std::move(start));
    send(block_of("ping"));
    try {
      const bool whole =
          turn_.follow(&*stream_, {.part = [&](size_t, const ChatPart& part, const TextDelta*) { pass_on(part); },
                                   .done = {},
                                   .progress =
                                       [&](const RequestProgress& p) {
                                         Json j = block_of("ping");
                                         j.set("prompt_progress", progress_json(p));
                                         send(std::move(j));
                                       }});
      if (whole) end();
    } catch (const ApiError& error) {
      stream_->send("error", anthropic_error_json(error, id_));
    }
    stream_->end();
  }

  void end() {
    const ChatChoice& c = turn_.choices()[0];
    said_ = c.content;
    if (!answered_) open(text_block(""), "text");
    close();
    Json d = block_of("message_delta"), last = Json::object();
    set_end(last, c);
    if (!c.warnings.empty()) last.set("x_warnings", warnings(c.warnings));
    d.set("delta", std::move(last)), d.set("usage", usage_json(turn_.usage()));
    send(std::move(d));
    send(block_of("message_stop"));
  }

  void pass_on(const ChatPart& part) {
    if (!part.reasoning.empty()) {
      if (open_ != "thinking") open(thinking_block(""), "thinking");
      fill("thinking_delta", "thinking", part.reasoning);
    }
    if (!part.words.content.empty()) {
      if (open_ != "text") open(text_block(""), "text");
      fill("text_delta", "text", part.words.content);
    }
    for (const CallDelta& c : part.words.calls) {
      if (!c.id.empty()) open(tool_block(c.id, c.name, Json::object()), "tool_use");
      if (!c.arguments.empty()) fill("input_json_delta", "partial_json", c.arguments);
    }
  }

  void open(Json block, const char* type) {
    close();
    Json j = block_of("content_block_start");
    j.set("index", blocks_), j.set("content_block", std::move(block));
    send(std::move(j));
    open_ = type, answered_ = answered_ || open_ != "thinking";
  }
  void close() {
    if (open_.empty()) return;
    if (open_ == "thinking") fill("signature_delta", "signature", signature_of(turn_.choices()[0].reasoning));
    Json j = block_of("content_block_stop");
    j.set("index", blocks_++);
    send(std::move(j));
    open_.clear();
  }
  void fill(const char* type, const char* key, const std::string& text) {
    Json j = block_of("content_block_delta"), d = block_of(type);
    d.set(key, text);
    j.set("index", blocks_), j.set("delta", std::move(d));
    send(std::move(j));
  }

  const Grounded& found_;
  ChatRequest r_;
  ChatTurn turn_;
  std::string open_;       // the type of the block being filled
  int64_t blocks_ = 0;     // closed so far
  bool answered_ = false;  // with more than thinking
};

}  // namespace

std::optional<std::string> anthropic_messages(ServedModel& m, Exchange& e, const Grounded& g) {
  if (!Fields(g.body).find("max_tokens")) bad_field("max_tokens", "expected a number of tokens");
  ChatRequest r = read_chat_request(m, g.body, "", MaxTokens::up_to_context);
  if (r.plan) bad_field("x_think", "is not supported here: use /v1/chat/completions");
  return MessageReply(m, e, g, std::move(r)).run();
}

Json count_tokens_json(const ServedModel& m, const Json& body) {
  Json j = Json::object();
  j.set("input_tokens", count_prompt(m, chat_body_of_messages(body)));
  return j;
}

Json anthropic_error_json(const ApiError& e, const std::string& request_id) {
  const char* type = e.status == 401   ? "authentication_error"
                     : e.status == 403 ? "permission_error"
                     : e.status == 404 ? "not_found_error"
                     : e.status == 413 ? "request_too_large"
                     : e.status == 429 ? "rate_limit_error"
                     : e.status == 503 ? "overloaded_error"
                     : e.status >= 500 ? "api_error"
                                       : "invalid_request_error";
  Json j = Json::object(), error = Json::object();
  error.set("type", type), error.set("message", e.what());
  j.set("type", "error"), j.set("error", std::move(error)), j.set("request_id", request_id);
  return j;
}

}  // namespace quern::serve
