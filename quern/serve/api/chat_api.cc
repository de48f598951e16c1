// Chat completions.
#include "quern/serve/api/chat_api.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "quern/serve/api/reply.h"
#include "quern/serve/chat/chat_request.h"
#include "quern/serve/chat/chat_turn.h"
#include "quern/serve/chat/reasoning_split.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

Json choice_json(size_t index, const char* key, Json value, const std::string& finish, Json logprobs) {
  Json j = Json::object();
  j.set("index", static_cast<int64_t>(index)), j.set(key, std::move(value)), j.set("logprobs", std::move(logprobs));
  j.set("finish_reason", finish.empty() ? Json() : Json(finish));
  return j;
}

Json delta(const char* key, std::string_view text) {
  Json d = Json::object();
  d.set(key, text);
  return d;
}

Json delta(const CallDelta& c) {
  Json one = Json::object(), function = Json::object();
  one.set("index", static_cast<int64_t>(c.index));
  if (!c.id.empty()) one.set("id", c.id), one.set("type", "function"), function.set("name", c.name);
  function.set("arguments", c.arguments), one.set("function", std::move(function));
  Json d = Json::object();
  d.set("tool_calls", Json(Json::Array{std::move(one)}));
  return d;
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& t : texts) list.push(t);
  return list;
}

class ChatReply final : public Reply {
 public:
  ChatReply(ServedModel& m, Exchange& e, const Grounded& found, ChatRequest r)
      : Reply(m, e, "chatcmpl-"), found_(found), r_(std::move(r)) {}

 private:
  void go() override {
    if (!r_.plan)
      decode();
    else if (r_.n == 1)
      think();
    else
      bad_field("n", "one choice when thinking by a plan");
  }

  void decode() {
    ChatTurn turn(m_, r_, e_);
    logprobs_.assign(static_cast<size_t>(r_.n), Json::array());
    if (r_.stream) return stream(turn);
    auto keep = [&](size_t i, const ChatPart&, const TextDelta* p) {
      if (r_.logprobs && p && p->token >= 0)
        logprobs_[i].push(chat_logprob(m_.tokenizer, p->token, p->logprob, p->top));
    };
    if (turn.follow(nullptr, {.part = keep, .done = {}})) answer(turn);
  }

  bool send(Json choice) {
    Json j = envelope("chat.completion.chunk"), list = Json::array();
    list.push(std::move(choice));
    j.set("choices", std::move(list));
    if (r_.include_usage) j.set("usage", Json());
    return stream_->send(j);
  }
  void open_stream() {
    stream_.emplace(e_);
    if (found_.asked()) {
      Json j = envelope("chat.completion.chunk");
      j.set("choices", Json::array()), found_.tell(j);
      stream_->send(j);
    }
    for (int64_t i = 0; i < r_.n; ++i) {
      Json d = delta("role", "assistant");
      d.set("content", "");
      send(choice_json(static_cast<size_t>(i), "delta", std::move(d), "", Json()));
    }
  }

  void stream(ChatTurn& turn) {
    open_stream();
    try {
      const bool whole = turn.follow(
          &*stream_,
          {.part = [&](size_t i, const ChatPart& part, const TextDelta* p) { pass_on(i, part, p); },
           .done =
               [&](size_t i) { send(choice_json(i, "delta", Json::object(), turn.choices()[i].finish(), Json())); },
           .progress =
               [&](const RequestProgress& p) {
                 Json j = envelope("chat.completion.chunk");
                 j.set("choices", Json::array()), j.set("prompt_progress", progress_json(p));
                 stream_->send(j);
               }});
      if (whole) said_ = turn.choices()[0].content;
    } catch (const ApiError& error) {
      stream_->send(error_json(error));
    }
    usage_ = turn.usage();
    close_stream();
  }

  void pass_on(size_t i, const ChatPart& part, const TextDelta* p) {
    Json logprobs;
    if (r_.logprobs && p && p->token >= 0)
      logprobs.set("content", Json(Json::Array{chat_logprob(m_.tokenizer, p->token, p->logprob, p->top)}));
    auto piece = [&](Json d) { send(choice_json(i, "delta", std::move(d), "", std::exchange(logprobs, Json()))); };
    if (!part.reasoning.empty()) piece(delta("reasoning_content", part.reasoning));
    if (!part.words.content.empty()) piece(delta("content", part.words.content));
    for (const CallDelta& c : part.words.calls) piece(delta(c));
    if (!part.words.warnings.empty()) {
      Json d = Json::object();
      d.set("x_warnings", texts_json(part.words.warnings));
      piece(std::move(d));
    }
    if (!logprobs.is_null()) piece(Json::object());
  }

  void close_stream() {
    if (r_.include_usage && !e_.gone()) {
      Json j = envelope("chat.completion.chunk");
      j.set("choices", Json::array()), j.set("usage", usage_.json());
      stream_->send(j);
    }
    stream_->done();
  }

  static Json message_json(const std::string& reasoning, const std::string& content) {
    Json m = Json::object();
    m.set("role", "assistant"), m.set("content", content);
    if (!reasoning.empty()) m.set("reasoning_content", reasoning);
    return m;
  }

  void answer(const ChatTurn& turn) {
    Json j = envelope("chat.completion"), list = Json::array();
    for (size_t i = 0; i < turn.choices().size(); ++i) {
      const ChatChoice& c = turn.choices()[i];
      Json lp, message = message_json(c.reasoning, c.content);
      if (r_.logprobs) lp.set("content", std::move(logprobs_[i]));
      if (!c.calls().empty()) {
        Json calls = Json::array();
        for (const ToolCall& call : c.calls()) calls.push(call.json());
        message.set("tool_calls", std::move(calls));
        if (c.content.empty()) message.set("content", Json());
      }
      if (!c.warnings.empty()) message.set("x_warnings", texts_json(c.warnings));
      list.push(choice_json(i, "message", std::move(message), c.finish(), std::move(lp)));
    }
    j.set("choices", std::move(list)), j.set("usage", turn.usage().json());
    found_.tell(j), said_ = turn.choices()[0].content;
    j.set("timings", timings_json(turn.choices()[0].answer->result()));
    e_.answer(200, "application/json", j.dump());
  }

  static Json event_json(const reason::ThinkEvent& ev) {
    const reason::Candidate& c = ev.candidate;
    Json j = Json::object(), sources = Json::array();
    for (int64_t s : c.sources) sources.push(s);
    j.set("round", c.round), j.set("candidate", c.index), j.set("sources", std::move(sources)),
        j.set("answer", c.answer);
    j.set("tokens", static_cast<int64_t>(c.tokens.size())), j.set("done", ev.done), j.set("all", ev.all);
    j.set("agreement", ev.agreement), j.set("new_tokens", ev.new_tokens);
    return j;
  }

  void think() {
    apply_caller(e_.caller, r_.prompt.size(), r_.options);
    const Caller& caller = e_.caller;
    int64_t limit = caller.max_tokens > 0 ? caller.max_tokens : std::numeric_limits<int64_t>::max();
    if (caller.max_context > 0) limit = std::min(limit, caller.max_context - std::ssize(r_.prompt));
    for (int64_t* tokens : {&r_.plan->beta, &r_.plan->tau, &r_.plan->final}) *tokens = std::min(*tokens, limit);
    if (r_.stream) open_stream();
    if (!r_.plan->seed) r_.plan->seed = r_.options.sampling.seed;
    const double seconds = m_.host->limit(r_.seconds);
    const auto began = std::chrono::steady_clock::now();
    bool late = false;
    auto alive = [&] {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      late = late || (seconds > 0 && took.count() >= seconds) || m_.host->ending();
      return !late && !e_.gone();
    };
    const reason::ThinkResult t = m_.host->think({m_.tokenizer, m_.chat_template, r_.messages, *r_.plan, r_.options},
                                                 {.alive = alive,
                                                  .on_event =
                                                      [&](const reason::ThinkEvent& ev) {
                                                        if (!stream_) return;
                                                        Json j = envelope("chat.completion.chunk");
                                                        j.set("choices", Json::array()),
                                                            j.set("x_think", event_json(ev));
                                                        stream_->send(j);
                                                      },
                                                  .id = e_.id});
    e_.caller.spend(t.prompt_tokens, t.new_tokens);
    if (e_.gone()) return stream_ ? stream_->end() : void();
    std::optional<ApiError> error;
    for (const reason::Candidate& c : t.candidates)
      if (c.finish == "error" || !t.best())
        error = ApiError(500, "server_error", "", c.error.empty() ? "no candidate finished" : c.error);
    if (late) error = ApiError(504, "server_error", "timeout", "the request timed out before its plan was done");
    if (late && m_.host->ending())
      error = ApiError(503, "server_error", "stopping", "the server is stopping; try again");
    if (error) {
      if (!stream_) throw *error;
      stream_->send(error_json(*error));
      return stream_->done();
    }
    const bool carried = t.best()->round > 0 && r_.plan->c == 1;  // the round before had opened the thinking
    ReasoningSplit split(carried ? infer::ThinkStart::opened : r_.think_start);
    ReasoningSplit::SplitText whole = split.push(t.best()->text);
    const ReasoningSplit::SplitText rest = split.finish();
    whole.reasoning += rest.reasoning, whole.content += rest.content;
    said_ = whole.content;
    usage_.prompt = t.prompt_tokens, usage_.cached = t.cached_tokens, usage_.completion = t.new_tokens;
    Json think = Json::object();
    think.set("plan", r_.plan->name()), think.set("agreement", t.agreement), think.set("answer", t.best()->answer);
    think.set("longest_prompt", t.longest_prompt), think.set("candidates", static_cast<int64_t>(t.candidates.size()));
    const char* reason = finish_reason(t.best()->finish);
    if (!stream_) {
      Json j = envelope("chat.completion"), list = Json::array();
      list.push(choice_json(0, "message", message_json(whole.reasoning, whole.content), reason, Json()));
      j.set("choices", std::move(list)), j.set("usage", usage_.json()), j.set("x_think", std::move(think));
      found_.tell(j);
      return e_.answer(200, "application/json", j.dump());
    }
    if (!whole.reasoning.empty())
      send(choice_json(0, "delta", delta("reasoning_content", whole.reasoning), "", Json()));
    send(choice_json(0, "delta", delta("content", whole.content), "", Json()));
    send(choice_json(0, "delta", Json::object(), reason, Json()));
    close_stream();
  }

  const Grounded& found_;
  ChatRequest r_;
  std::vector<Json> logprobs_;  // of each choice, when they are not streamed
  Usage usage_;
};

}  // namespace

std::optional<std::string> chat_completions(ServedModel& m, Exchange& e, const Grounded& g, const std::string& plan) {
  return ChatReply(m, e, g, read_chat_request(m, g.body, plan)).run();
}

}  // namespace quern::serve
