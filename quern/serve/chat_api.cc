// Chat completions.
#include "quern/serve/chat_api.h"

#include "quern/serve/api_error.h"
#include "quern/serve/chat_request.h"
#include "quern/serve/reasoning_split.h"
#include "quern/serve/wire.h"

namespace quern {
namespace {

constexpr double kKeepAliveSeconds = 10;

struct Choice {
  std::shared_ptr<Answer> answer;
  ReasoningSplit split;
  Json logprobs = Json::array();
  std::string reasoning, content;
  bool done = false;
  explicit Choice(bool opened) : split(opened) {}
};

Json choice_json(int64_t index, const char* key, Json value, const std::string& finish, Json logprobs) {
  Json j = Json::object();
  j.set("index", index), j.set(key, std::move(value)), j.set("logprobs", std::move(logprobs));
  j.set("finish_reason", finish.empty() ? Json() : Json(finish));
  return j;
}

Json delta(const char* key, std::string_view text) {
  Json d = Json::object();
  d.set(key, text);
  return d;
}

class Reply {
 public:
  Reply(ServedModel& m, Exchange& e, ChatRequest r)
      : m_(m), e_(e), r_(std::move(r)), id_(new_id("chatcmpl-")), created_(unix_time()) {}

  void run() {
    if (r_.plan) return r_.n == 1 ? think() : bad_field("n", "one choice when thinking by a plan");
    for (int64_t i = 0; i < r_.n; ++i) {
      Request q{.prompt = r_.prompt, .options = r_.options};
      q.options.sampling.seed += static_cast<uint64_t>(i);
      choices_.emplace_back(r_.opened).answer = m_.host->submit(std::move(q));
    }
    if (r_.stream) open_stream();
    follow();
    if (e_.gone() && !r_.stream) return;
    r_.stream ? close_stream() : answer();
  }

 private:
  Json envelope(const char* object) const {
    Json j = Json::object();
    j.set("id", id_), j.set("object", object), j.set("created", created_), j.set("model", m_.id);
    return j;
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
    for (int64_t i = 0; i < r_.n; ++i) {
      Json d = delta("role", "assistant");
      d.set("content", "");
      send(choice_json(i, "delta", std::move(d), "", Json()));
    }
  }

  // Until every choice is done or the client is gone.
  void follow() {
    double silent = 0;
    for (size_t left = choices_.size(); left > 0;) {
      const double wait = left == 1 ? 0.25 : 0.02;
      bool came = false;
      for (size_t i = 0; i < choices_.size(); ++i) {
        Choice& c = choices_[i];
        if (c.done) continue;
        AnswerPiece p;
        const Answer::Wait w = c.answer->next(p, wait);
        if (w == Answer::Wait::late) continue;
        came = true;
        if (w == Answer::Wait::piece) {
          take(i, p);
        } else {
          c.done = true, --left;
          finish(i);
        }
      }
      silent = came ? 0 : silent + wait;
      const bool alive = stream_ && silent >= kKeepAliveSeconds ? (silent = 0, stream_->keep_alive()) : !e_.gone();
      if (!alive) {
        choices_.clear();  // lets go of the answers: what is left of them is cancelled
        return;
      }
    }
  }

  void take(size_t i, const AnswerPiece& p) {
    Choice& c = choices_[i];
    Json lp;
    if (r_.logprobs && p.token >= 0) lp = chat_logprob(m_.tokenizer, p.token, p.logprob, p.top);
    pass_on(i, c.split.push(p.text), lp);
    if (!lp.is_null() && !stream_) c.logprobs.push(std::move(lp));
  }

  void pass_on(size_t i, const ReasoningSplit::Part& part, const Json& lp) {
    Choice& c = choices_[i];
    c.reasoning += part.reasoning, c.content += part.content;
    if (!stream_) return;
    Json logprobs;
    if (!lp.is_null()) logprobs.set("content", Json(Json::Array{lp}));
    auto piece = [&](const char* key, const std::string& text) {
      if (text.empty()) return;
      send(choice_json(static_cast<int64_t>(i), "delta", delta(key, text), "", std::exchange(logprobs, Json())));
    };
    piece("reasoning_content", part.reasoning);
    piece("content", part.content);
    if (!logprobs.is_null()) send(choice_json(static_cast<int64_t>(i), "delta", Json::object(), "", logprobs));
  }

  void finish(size_t i) {
    Choice& c = choices_[i];
    pass_on(i, c.split.finish(), Json());
    const Generated& g = c.answer->result();
    usage_.prompt = g.prompt_tokens, usage_.cached = std::max(usage_.cached, g.cached_tokens);
    usage_.completion += static_cast<int64_t>(g.tokens.size());
    usage_.reasoning += static_cast<int64_t>(m_.tokenizer.encode(c.reasoning, {.add_special_tokens = false}).size());
    if (g.finish == "error") {
      ApiError error(500, "server_error", "", g.error);
      if (!stream_) throw error;
      stream_->send(error_json(error));
      return;
    }
    if (stream_) send(choice_json(static_cast<int64_t>(i), "delta", Json::object(), finish_reason(g.finish), Json()));
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

  void answer() {
    Json j = envelope("chat.completion"), list = Json::array();
    for (size_t i = 0; i < choices_.size(); ++i) {
      Choice& c = choices_[i];
      Json lp;
      if (r_.logprobs) lp.set("content", std::move(c.logprobs));
      list.push(choice_json(static_cast<int64_t>(i), "message", message_json(c.reasoning, c.content),
                            finish_reason(c.answer->result().finish), std::move(lp)));
    }
    j.set("choices", std::move(list)), j.set("usage", usage_.json());
    j.set("timings", timings_json(choices_[0].answer->result()));
    e_.answer(200, "application/json", j.dump());
  }

  static Json event_json(const ThinkEvent& ev) {
    const Candidate& c = ev.candidate;
    Json j = Json::object(), sources = Json::array();
    for (int64_t s : c.sources) sources.push(s);
    j.set("round", c.round), j.set("candidate", c.index), j.set("sources", std::move(sources)),
        j.set("answer", c.answer);
    j.set("tokens", static_cast<int64_t>(c.tokens.size())), j.set("done", ev.done), j.set("all", ev.all);
    j.set("agreement", ev.agreement), j.set("new_tokens", ev.new_tokens);
    return j;
  }

  void think() {
    if (r_.stream) open_stream();
    if (!r_.plan->seed) r_.plan->seed = r_.options.sampling.seed;
    const Thought t = m_.host->think(
        m_.tokenizer, m_.chat_template, r_.messages, *r_.plan, r_.options, [&] { return !e_.gone(); },
        [&](const ThinkEvent& ev) {
          if (!stream_) return;
          Json j = envelope("chat.completion.chunk");
          j.set("choices", Json::array()), j.set("x_think", event_json(ev));
          stream_->send(j);
        });
    if (e_.gone()) return stream_ ? stream_->end() : void();
    for (const Candidate& c : t.candidates)
      if (c.finish == "error" || !t.best()) {
        ApiError error(500, "server_error", "", c.error.empty() ? "no candidate finished" : c.error);
        if (!stream_) throw error;
        stream_->send(error_json(error));
        return stream_->done();
      }
    ReasoningSplit split(r_.opened || (t.best()->round > 0 && r_.plan->c == 1));
    ReasoningSplit::Part whole = split.push(t.best()->text);
    const ReasoningSplit::Part rest = split.finish();
    whole.reasoning += rest.reasoning, whole.content += rest.content;
    usage_.prompt = t.prompt_tokens, usage_.completion = t.new_tokens;
    Json think = Json::object();
    think.set("plan", r_.plan->name()), think.set("agreement", t.agreement), think.set("answer", t.best()->answer);
    think.set("longest_prompt", t.longest_prompt), think.set("candidates", static_cast<int64_t>(t.candidates.size()));
    const char* reason = finish_reason(t.best()->finish);
    if (!stream_) {
      Json j = envelope("chat.completion"), list = Json::array();
      list.push(choice_json(0, "message", message_json(whole.reasoning, whole.content), reason, Json()));
      j.set("choices", std::move(list)), j.set("usage", usage_.json()), j.set("x_think", std::move(think));
      return e_.answer(200, "application/json", j.dump());
    }
    if (!whole.reasoning.empty())
      send(choice_json(0, "delta", delta("reasoning_content", whole.reasoning), "", Json()));
    send(choice_json(0, "delta", delta("content", whole.content), "", Json()));
    send(choice_json(0, "delta", Json::object(), reason, Json()));
    close_stream();
  }

  ServedModel& m_;
  Exchange& e_;
  ChatRequest r_;
  std::string id_;
  int64_t created_;
  std::vector<Choice> choices_;
  std::optional<EventStream> stream_;
  Usage usage_;
};

}  // namespace

void chat_completions(ServedModel& m, Exchange& e, const Json& body, const std::string& plan) {
  Reply(m, e, read_chat_request(m, body, plan)).run();
}

}  // namespace quern
