// Chunks of a round, sorted into those for the client now and those for the end.
#include "quern/serve/api/chat_round.h"

#include <utility>

namespace quern::serve {
namespace {

std::string text_in(const Json& j, const char* key) {
  const Json* t = j.find(key);
  return t && t->is_string() ? t->as_string() : std::string();
}

}  // namespace

void RoundsStream::begin(std::string_view content_type) {
  if (!std::exchange(begun_, true)) exchange_.begin(200, content_type);
}

bool RoundsStream::send(Json chunk) {
  if (const Json* id = chunk.find("id")) {
    if (id_.is_null()) {
      id_ = *id;
      for (const char* key : {"id", "object", "created", "model"})
        if (const Json* v = chunk.find(key)) first_.set(key, *v);
    }
    chunk.set("id", id_);
  }
  return exchange_.write("data: " + chunk.dump() + "\n\n");
}

bool RoundsStream::tell(Json value) {
  Json chunk = first_;
  chunk.set("choices", Json::array()), chunk.set("x_mcp", std::move(value));
  return exchange_.write("data: " + chunk.dump() + "\n\n");
}

void RoundsStream::done() {
  exchange_.write("data: [DONE]\n\n");
  exchange_.end();
}

ChatRound::ChatRound(Exchange& client, RoundsStream& stream, Place place)
    : client_(client), stream_(stream), place_(place) {
  id = client.id, caller = client.caller, facts = std::move(client.facts);
}

ChatRound::~ChatRound() { client_.facts = std::move(facts); }

void ChatRound::header(std::string name, std::string value) {
  if (place_ == Place::first) client_.header(std::move(name), std::move(value));
}

void ChatRound::answer(int status, std::string_view, std::string_view body) {
  status_ = status, body_ = body, failed_ = status != 200;
  if (!failed_) take_message(Json::parse(body_, "the answer of a round"));
}

void ChatRound::begin(int status, std::string_view content_type) {
  status_ = status;
  stream_.begin(content_type);
}

bool ChatRound::write(std::string_view data) {
  if (data.starts_with(':')) return stream_.send_raw(data);
  events_.feed(data);
  bool open = !client_.gone();
  while (const auto event = events_.next())
    if (event->data != "[DONE]") open = take_chunk(Json::parse(event->data, "a chunk of a round")) && open;
  return open;
}

bool ChatRound::take_chunk(const Json& chunk) {
  if (chunk.find("error")) {
    failed_ = true;
    return stream_.send(chunk);
  }
  if (const Json* u = chunk.find("usage"); u && u->is_object()) {
    usage_ = *u;
    return true;
  }
  const Json* choices = chunk.find("choices");
  const bool later = place_ == Place::later;
  if (!choices || choices->as_array().empty()) {  // what was found, and progress
    if (later && !chunk.find("prompt_progress")) return true;
    return stream_.send(chunk);
  }
  const Json& c = choices->as_array()[0];
  const Json& delta = c.at("delta");
  content_ += text_in(delta, "content"), reasoning_ += text_in(delta, "reasoning_content");
  const Json* calls = delta.find("tool_calls");
  if (calls) take_call_deltas(*calls);
  finish_ += text_in(c, "finish_reason");
  if (calls || !c.at("finish_reason").is_null()) {
    held_.push_back(chunk);
    return true;
  }
  if (later && delta.find("role")) return true;
  return stream_.send(chunk);
}

void ChatRound::take_call_deltas(const Json& deltas) {
  for (const Json& d : deltas.as_array()) {
    const auto i = static_cast<size_t>(d.at("index").as_int());
    if (i >= calls_.size()) calls_.resize(i + 1);
    const Json& function = d.at("function");
    calls_[i].id += text_in(d, "id"), calls_[i].name += text_in(function, "name");
    calls_[i].arguments += text_in(function, "arguments");
  }
}

void ChatRound::take_message(const Json& answer) {
  const Json& choice = answer.at("choices").as_array().at(0);
  const Json& m = choice.at("message");
  finish_ = text_in(choice, "finish_reason");
  content_ = text_in(m, "content"), reasoning_ = text_in(m, "reasoning_content");
  if (const Json* u = answer.find("usage")) usage_ = *u;
  const Json* calls = m.find("tool_calls");
  if (!calls) return;
  for (const Json& c : calls->as_array()) {
    const Json& function = c.at("function");
    calls_.push_back(
        {.id = text_in(c, "id"), .name = text_in(function, "name"), .arguments = text_in(function, "arguments")});
  }
}

Json ChatRound::message() const {
  Json m = Json::object(), list = Json::array();
  m.set("role", "assistant"), m.set("content", content_);
  if (!reasoning_.empty()) m.set("reasoning_content", reasoning_);
  for (const ToolCall& c : calls_) list.push(c.json());
  if (!calls_.empty()) m.set("tool_calls", std::move(list));
  return m;
}

}  // namespace quern::serve
