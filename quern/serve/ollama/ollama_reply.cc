// Chat and generate differ in where the text stands; the rest is shared.
#include "quern/serve/ollama/ollama_reply.h"

#include <chrono>
#include <cmath>

#include "quern/base/stopwatch.h"
#include "quern/serve/api/reply.h"
#include "quern/serve/chat/chat_turn.h"
#include "quern/serve/chat/text_request.h"
#include "quern/serve/llama/infill.h"
#include "quern/serve/ollama/ollama_request.h"
#include "quern/serve/wire/rfc3339.h"

namespace quern::serve {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

class OllamaReply final : public Reply {
 public:
  OllamaReply(ServedModel& m, Exchange& e, const OllamaCall& call, OllamaForm form, ChatRequest r)
      : Reply(m, e, "ollama-"), call_(call), form_(form), r_(std::move(r)), turn_(m_, r_, e) {}

 private:
  void go() override {
    if (r_.stream) stream_.emplace(e_, StreamForm::lines);
    try {
      const auto take = [&](size_t, const ChatPart& part, const TextDelta* p) { pass_on(part, p); };
      if (turn_.follow(stream_ ? &*stream_ : nullptr, {.part = take, .done = {}})) end();
    } catch (const ApiError& error) {
      if (!stream_) throw;
      stream_->send(ollama_error_json(error));
    }
    if (stream_) stream_->end();
  }

  Json head() const {
    Json j = Json::object();
    j.set("model", call_.name), j.set("created_at", rfc3339_micro(now()));
    return j;
  }

  // What is said, thought and called, where the form has it.
  Json said(const std::string& content, const std::string& thinking, Json calls) const {
    Json j = head();
    if (form_ == OllamaForm::generate) {
      j.set("response", content);
      if (!thinking.empty()) j.set("thinking", thinking);
      return j;
    }
    Json m = Json::object();
    m.set("role", "assistant"), m.set("content", content);
    if (!thinking.empty()) m.set("thinking", thinking);
    if (!calls.as_array().empty()) m.set("tool_calls", std::move(calls));
    j.set("message", std::move(m));
    return j;
  }

  static Json call_json(const ToolCall& c, size_t index) {
    Json function = Json::object(), one = Json::object();
    function.set("index", static_cast<int64_t>(index)), function.set("name", c.name);
    function.set("arguments", Json::parse(c.arguments.empty() ? "{}" : c.arguments));
    one.set("id", c.id), one.set("function", std::move(function));
    return one;
  }
  // Those that have become whole.
  Json new_calls() {
    const std::vector<ToolCall>& all = turn_.choices()[0].calls();
    Json list = Json::array();
    for (; calls_given_ < all.size(); ++calls_given_) list.push(call_json(all[calls_given_], calls_given_));
    return list;
  }

  void pass_on(const ChatPart& part, const TextDelta* p) {
    if (r_.logprobs && p && p->token >= 0) logprobs_.push(chat_logprob(m_.tokenizer, p->token, p->logprob, p->top));
    if (!stream_) return;
    Json calls = new_calls();
    if (part.words.content.empty() && part.reasoning.empty() && calls.as_array().empty()) return;
    Json j = said(part.words.content, part.reasoning, std::move(calls));
    if (r_.logprobs) j.set("logprobs", std::exchange(logprobs_, Json::array()));
    j.set("done", false);
    stream_->send(j);
  }

  void end() {
    const ChatChoice& c = turn_.choices()[0];
    const infer::Generated& g = c.answer->result();
    Json calls = new_calls();
    Json j = stream_ ? said("", "", std::move(calls)) : said(c.content, c.reasoning, std::move(calls));
    if (r_.logprobs && !logprobs_.as_array().empty()) j.set("logprobs", logprobs_);
    j.set("done", true), j.set("done_reason", c.finish() == "length" ? "length" : "stop");
    if (form_ == OllamaForm::generate) {
      Json context = Json::array();
      for (int32_t id : r_.prompt) context.push(id);
      for (int32_t id : g.tokens) context.push(id);
      j.set("context", std::move(context));
    }
    j.set("total_duration", nanoseconds(call_.load_seconds + watch_.seconds()));
    j.set("load_duration", nanoseconds(call_.load_seconds)), j.set("prompt_eval_count", g.prompt_tokens);
    j.set("prompt_eval_duration", nanoseconds(g.prompt_seconds));
    j.set("eval_count", static_cast<int64_t>(g.tokens.size()));
    j.set("eval_duration", nanoseconds(g.decode_seconds));
    if (stream_)
      stream_->send(j);
    else
      e_.answer(200, "application/json; charset=utf-8", j.dump());
  }

  OllamaCall call_;
  OllamaForm form_;
  Stopwatch watch_;
  ChatRequest r_;
  ChatTurn turn_;
  size_t calls_given_ = 0;
  Json logprobs_ = Json::array();
};

std::vector<int32_t> read_context(const Json& list, const ServedModel& m) {
  if (!list.is_array()) bad_field("context", "expected the token ids of an earlier answer");
  std::vector<int32_t> ids;
  for (const Json& id : list.as_array()) {
    if (!id.is_int() || id.as_int() < 0 || id.as_int() >= m.model->vocab_size())
      bad_field("context", "token ids run from 0 to {}", m.model->vocab_size() - 1);
    ids.push_back(static_cast<int32_t>(id.as_int()));
  }
  return ids;
}

// Without a template: `raw`, or a text to be filled in before `suffix`.
ChatRequest read_without_template(const ServedModel& m, const Json& own, const Json& body) {
  const Fields f(body);
  const std::string prompt = f.text("prompt").value_or("");
  const auto suffix = f.text("suffix");
  if (!suffix || suffix->empty()) return read_text_request(m, own, m.tokenizer.encode(prompt, {}));
  ChatRequest r = read_text_request(m, own, fill_prompt(m, {.prefix = prompt, .suffix = *suffix}));
  for (int64_t id : fill_stops(m.tokenizer)) r.options.stop_ids.push_back(id);
  return r;
}

}  // namespace

void ollama_chat(ServedModel& m, Exchange& e, const Json& body, const OllamaCall& call) {
  ChatRequest r = read_chat_request(m, ollama_chat_body(body, m.tokenizer), "");
  OllamaReply(m, e, call, OllamaForm::chat, std::move(r)).run();
}

void ollama_generate(ServedModel& m, Exchange& e, const Json& body, const OllamaCall& call) {
  const Fields f(body);
  const Json own = ollama_prompt_body(body, m.tokenizer);
  const bool plain = f.boolean("raw").value_or(false) || !f.text("suffix").value_or("").empty();
  ChatRequest r = plain ? read_without_template(m, own, body) : read_chat_request(m, own, "");
  if (const Json* context = f.find("context")) {
    std::vector<int32_t> ids = read_context(*context, m);
    ids.insert(ids.end(), r.prompt.begin(), r.prompt.end());
    r.prompt = std::move(ids);
    r.options.max_tokens = token_budget(m, r.prompt.size(), Fields(own).integer("max_tokens", 1, int64_t{1} << 31),
                                        "options.num_predict");
  }
  OllamaReply(m, e, call, OllamaForm::generate, std::move(r)).run();
}

Json ollama_loaded_json(OllamaForm form, const OllamaCall& call, const std::string& reason) {
  Json j = Json::object(), m = Json::object();
  j.set("model", call.name), j.set("created_at", rfc3339_micro(now()));
  m.set("role", "assistant"), m.set("content", "");
  form == OllamaForm::chat ? j.set("message", std::move(m)) : j.set("response", "");
  j.set("done", true), j.set("done_reason", reason);
  j.set("total_duration", nanoseconds(call.load_seconds)), j.set("load_duration", nanoseconds(call.load_seconds));
  return j;
}

Json ollama_error_json(const ApiError& e) {
  Json j = Json::object();
  j.set("error", e.what());
  return j;
}

int64_t nanoseconds(double seconds) { return std::llround(1e9 * seconds); }

}  // namespace quern::serve
