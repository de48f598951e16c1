// Writes output items: reasoning, message, calls; each as added, delta and done events when streamed.
#include "quern/serve/api/responses_api.h"

#include <algorithm>

#include "quern/serve/api/reply.h"
#include "quern/serve/chat/chat_turn.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

struct Item {  // of the output
  enum class Kind { reasoning, summary, message, call, custom };
  Kind kind = Kind::message;
  std::string id = {}, call_id = {}, name = {}, text = {};  // text: what is said or thought, or a call's arguments
  Json logprobs = Json::array();                            // of a message, when asked for
  bool parts() const { return kind != Kind::call && kind != Kind::custom; }
};

// What the API calls the parts and the events of an item.
struct ItemNames {
  const char *prefix, *part, *added, *removed, *delta, *done, *index, *value;
};
const ItemNames& names(const Item& item) {
  static const ItemNames all[] = {
      {"rs_", "reasoning_text", "response.content_part.added", "response.content_part.done",
       "response.reasoning_text.delta", "response.reasoning_text.done", "content_index", "text"},
      {"rs_", "summary_text", "response.reasoning_summary_part.added", "response.reasoning_summary_part.done",
       "response.reasoning_summary_text.delta", "response.reasoning_summary_text.done", "summary_index", "text"},
      {"msg_", "output_text", "response.content_part.added", "response.content_part.done",
       "response.output_text.delta", "response.output_text.done", "content_index", "text"},
      {"fc_", nullptr, nullptr, nullptr, "response.function_call_arguments.delta",
       "response.function_call_arguments.done", nullptr, "arguments"},
      {"ctc_", nullptr, nullptr, nullptr, "response.custom_tool_call_input.delta",
       "response.custom_tool_call_input.done", nullptr, "input"},
  };
  return all[static_cast<size_t>(item.kind)];
}

Json part_json(const Item& item, const std::string& text) {
  Json p = Json::object();
  p.set("type", names(item).part), p.set("text", text);
  if (item.kind != Item::Kind::message) return p;
  p.set("annotations", Json::array()), p.set("logprobs", text.empty() ? Json::array() : item.logprobs);
  return p;
}

Json item_json(const Item& item, bool done) {
  Json j = Json::object();
  j.set("id", item.id);
  const char* status = done ? "completed" : "in_progress";
  const Json parts = done && item.parts() ? Json(Json::Array{part_json(item, item.text)}) : Json::array();
  switch (item.kind) {
    case Item::Kind::reasoning:
      j.set("type", "reasoning"), j.set("summary", Json::array()), j.set("content", parts);
      break;
    case Item::Kind::summary:
      j.set("type", "reasoning"), j.set("summary", parts);
      break;
    case Item::Kind::message:
      j.set("type", "message"), j.set("role", "assistant"), j.set("status", status), j.set("content", parts);
      break;
    case Item::Kind::call:
    case Item::Kind::custom:
      j.set("type", item.kind == Item::Kind::call ? "function_call" : "custom_tool_call"), j.set("status", status);
      j.set("call_id", item.call_id), j.set("name", item.name);
      j.set(names(item).value, done ? item.text : std::string());
      break;
  }
  return j;
}

class ResponseReply final : public Reply {
 public:
  ResponseReply(ServedModel& m, Exchange& e, const Json& body, ResponseRequest q, const Grounded& found,
                ResponseStore& store)
      : Reply(m, e, "resp_"),
        body_(body),
        q_(std::move(q)),
        found_(found),
        store_(store),
        r_(read_chat_request(m, found.body, "")),
        turn_(m, r_, e) {}

 private:
  void go() override {
    if (r_.stream) {
      stream_.emplace(e_);
      Json created = response("in_progress");
      found_.tell(created);
      event("response.created", "response", std::move(created));
      event("response.in_progress", "response", response("in_progress"));
    }
    try {
      const auto take = [&](size_t, const ChatPart& part, const TextDelta* piece) { pass_on(part, piece); };
      const auto tell = [&](const RequestProgress& p) {
        Json j = Json::object();
        j.set("response", response("in_progress")), j.set("prompt_progress", progress_json(p));
        event("response.in_progress", j);
      };
      if (!turn_.follow(stream_ ? &*stream_ : nullptr, {.part = take, .done = {}, .progress = tell})) {
        if (stream_) stream_->end();
        return;
      }
    } catch (const ApiError& error) {
      if (!stream_) throw;
      Json failed = response("failed");
      failed.set("error", failure(error));
      event("response.failed", "response", std::move(failed));
      return stream_->end();
    }
    if (items_.empty()) open(Item::Kind::message);
    close();
    const bool whole = turn_.choices()[0].finish() != "length";
    said_ = turn_.choices()[0].content;
    Json final = response(whole ? "completed" : "incomplete");
    if (Fields(body_).boolean("store").value_or(true)) keep(final);
    found_.tell(final);
    if (!stream_) return e_.answer(200, "application/json", final.dump());
    event(whole ? "response.completed" : "response.incomplete", "response", final);
    stream_->end();
  }

  static Json failure(const ApiError& error) {
    Json j = Json::object();
    j.set("code", error.status == 429 ? "rate_limit_exceeded" : "server_error"), j.set("message", error.what());
    return j;
  }

  // What the request said, or what holds when it is silent.
  Json said(const char* field, Json otherwise) const {
    const Json* v = Fields(body_).find(field);
    return v ? *v : otherwise;
  }

  Json response(const std::string& status) const {
    const bool over = status == "completed" || status == "incomplete";
    Json j = Json::object(), output = Json::array(), reasoning = Json::object(), format = Json::object(),
         text = format;
    for (const Item& item : items_) {
      if (!over) break;
      Json one = item_json(item, true);
      if (!item.parts() && !called(item.call_id)) one.set("status", "incomplete");
      output.push(std::move(one));
    }
    j.set("id", id_), j.set("object", "response"), j.set("created_at", created_), j.set("status", status);
    j.set("error", Json()), j.set("model", m_.id), j.set("output", std::move(output));
    Json incomplete;
    if (status == "incomplete") incomplete.set("reason", "max_output_tokens");
    j.set("incomplete_details", std::move(incomplete));
    format.set("type", "text"), text.set("format", std::move(format));
    reasoning.set("effort", Json()), reasoning.set("summary", Json());
    j.set("instructions", said("instructions", Json())),
        j.set("max_output_tokens", said("max_output_tokens", Json()));
    j.set("metadata", said("metadata", Json::object())), j.set("parallel_tool_calls", r_.tools.parallel);
    j.set("previous_response_id", said("previous_response_id", Json())),
        j.set("reasoning", said("reasoning", reasoning));
    j.set("store", said("store", true)), j.set("temperature", r_.options.sampling.temperature);
    j.set("text", said("text", text)), j.set("tool_choice", said("tool_choice", "auto"));
    j.set("tools", said("tools", Json::array())), j.set("top_p", r_.options.sampling.top_p);
    j.set("background", false), j.set("service_tier", "default"), j.set("max_tool_calls", Json());
    for (const char* same : {"user", "safety_identifier", "prompt_cache_key"})
      if (const Json* v = Fields(body_).find(same)) j.set(same, *v);
    j.set("top_logprobs", r_.options.top_logprobs), j.set("completed_at", over ? Json(unix_time()) : Json());
    j.set("truncation", "disabled"), j.set("usage", over ? usage_json() : Json());
    if (over && !turn_.choices()[0].warnings.empty()) {
      Json list = Json::array();
      for (const std::string& w : turn_.choices()[0].warnings) list.push(w);
      j.set("x_warnings", std::move(list));
    }
    return j;
  }

  bool called(const std::string& call_id) const {  // to its end
    const std::vector<ToolCall>& calls = turn_.choices()[0].calls();
    return std::any_of(calls.begin(), calls.end(), [&](const ToolCall& c) { return c.id == call_id; });
  }

  Json usage_json() const {
    const Usage& u = turn_.usage();
    Json j = Json::object(), in = Json::object(), out = Json::object();
    in.set("cached_tokens", u.cached), out.set("reasoning_tokens", u.reasoning);
    j.set("input_tokens", u.prompt), j.set("input_tokens_details", std::move(in));
    j.set("output_tokens", u.completion), j.set("output_tokens_details", std::move(out));
    j.set("total_tokens", u.prompt + u.completion);
    return j;
  }

  // What memory and documents gave is not kept with it: what is forgotten there must not live on here.
  void keep(Json& final) {
    const ChatChoice& c = turn_.choices()[0];
    Json messages = q_.messages, m = Json::object(), calls = Json::array();
    m.set("role", "assistant"), m.set("content", c.content);
    if (!c.reasoning.empty()) m.set("reasoning_content", c.reasoning);
    for (const ToolCall& call : c.calls()) calls.push(call.json());
    if (!calls.as_array().empty()) m.set("tool_calls", std::move(calls));
    messages.push(std::move(m));
    const std::string trouble = store_.put({.id = id_,
                                            .model = m_.id,
                                            .response = final,
                                            .input = q_.input,
                                            .messages = std::move(messages),
                                            .owner = e_.caller.owner()});
    if (trouble.empty()) return;
    const Json* told = final.find("x_warnings");
    Json warnings = told ? *told : Json::array();
    warnings.push("this response is kept in memory alone: " + trouble);
    final.set("x_warnings", std::move(warnings));
  }

  void pass_on(const ChatPart& part, const TextDelta* piece) {
    if (!part.reasoning.empty()) {
      const auto kind = q_.summary ? Item::Kind::summary : Item::Kind::reasoning;
      if (!open_ || items_.back().kind != kind) open(kind);
      fill(part.reasoning);
    }
    if (!part.words.content.empty()) {
      if (!open_ || items_.back().kind != Item::Kind::message) open(Item::Kind::message);
      Json logprobs = Json::array();
      if (r_.logprobs && piece && piece->token >= 0)
        logprobs.push(chat_logprob(m_.tokenizer, piece->token, piece->logprob, piece->top));
      fill(part.words.content, logprobs);
    }
    for (const CallDelta& c : part.words.calls) {
      const bool custom = std::ranges::find(q_.custom, c.name) != q_.custom.end();
      if (!c.id.empty()) open(custom ? Item::Kind::custom : Item::Kind::call, c.id, c.name);
      if (!c.arguments.empty()) fill(c.arguments);
    }
  }

  bool event(const char* type, const char* key, Json value) {
    return event(type, Json(Json::Object{{key, std::move(value)}}));
  }
  bool event(const char* type, const Json& fields) {
    if (!stream_) return true;
    Json j = Json::object();
    j.set("type", type), j.set("sequence_number", sequence_++);
    for (const auto& [key, value] : fields.as_object()) j.set(key, value);
    return stream_->send(type, j);
  }
  // Where the open item is, for its events.
  Json place() const {
    const Item& item = items_.back();
    Json j = Json::object();
    j.set("item_id", item.id), j.set("output_index", static_cast<int64_t>(items_.size()) - 1);
    if (names(item).index) j.set(names(item).index, int64_t{0});
    return j;
  }

  void open(Item::Kind kind, const std::string& call_id = {}, const std::string& name = {}) {
    close();
    Item& item = items_.emplace_back(Item{.kind = kind, .call_id = call_id, .name = name});
    item.id = new_id(names(item).prefix);
    open_ = true;
    Json j = Json::object();
    j.set("output_index", static_cast<int64_t>(items_.size()) - 1), j.set("item", item_json(item, false));
    event("response.output_item.added", j);
    if (!item.parts()) return;
    Json p = place();
    p.set("part", part_json(item, ""));
    event(names(item).added, p);
  }

  void fill(const std::string& text, const Json& logprobs = Json::array()) {
    Item& item = items_.back();
    item.text += text;
    for (const Json& one : logprobs.as_array()) item.logprobs.push(one);
    if (item.kind == Item::Kind::custom) return;  // its text is known when the call is whole
    Json j = place();
    j.set("delta", text);
    if (item.kind == Item::Kind::message) j.set("logprobs", logprobs);
    event(names(item).delta, j);
  }

  void close() {
    if (!std::exchange(open_, false)) return;
    Item& item = items_.back();
    if (item.kind == Item::Kind::custom) finish_custom(item);
    Json j = place();
    j.set(names(item).value, item.text);
    if (item.kind == Item::Kind::call) j.set("name", item.name);
    if (item.kind == Item::Kind::message) j.set("logprobs", item.logprobs);
    event(names(item).done, j);
    if (item.parts()) {
      Json p = place();
      p.set("part", part_json(item, item.text));
      event(names(item).removed, p);
    }
    Json d = Json::object();
    d.set("output_index", static_cast<int64_t>(items_.size()) - 1), d.set("item", item_json(item, true));
    event("response.output_item.done", d);
  }

  // From the arguments of the function that it is for the model to the text.
  void finish_custom(Item& item) {
    const std::string arguments = std::exchange(item.text, {});
    if (called(item.call_id)) item.text = Fields(Json::parse(arguments)).text(kCustomInput).value_or("");
    Json j = place();
    j.set("delta", item.text);
    event(names(item).delta, j);
  }

  const Json& body_;
  ResponseRequest q_;
  const Grounded& found_;
  ResponseStore& store_;
  ChatRequest r_;
  ChatTurn turn_;
  int64_t sequence_ = 0;
  std::vector<Item> items_;
  bool open_ = false;  // the last of them
};

}  // namespace

namespace {

std::shared_ptr<const StoredResponse> response_before(const Json& body, ResponseStore& store, const Caller& who) {
  const auto id = Fields(body).text("previous_response_id");
  if (!id) return nullptr;
  if (auto before = store.get(*id, who)) return before;
  ApiError x(404, "invalid_request_error", "previous_response_not_found",
             fmt::format("previous_response_id: response '{}' does not exist, or no longer", *id));
  x.param = "previous_response_id";
  throw x;
}

}  // namespace

Json input_tokens_json(const ServedModel& m, const Json& body, ResponseStore& store, const Caller& who) {
  const auto before = response_before(body, store, who);
  Json j = Json::object();
  j.set("object", "response.input_tokens");
  j.set("input_tokens", count_prompt(m, read_response_request(body, before.get(), {store, who}).chat));
  return j;
}

void create_response(ServedModel& m, Exchange& e, const Json& body, ResponseStore& store, Grounding& grounding) {
  const auto before = response_before(body, store, e.caller);
  ResponseRequest q = read_response_request(body, before.get(), {store, e.caller});
  const Grounded g = grounding.ground(q.chat, m.tokenizer, unix_time(), e.caller);
  if (const auto said = ResponseReply(m, e, body, std::move(q), g, store).run())
    grounding.keep(g, *said, unix_time());
}

}  // namespace quern::serve
