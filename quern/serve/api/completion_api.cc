// Text completions. With echo and logprobs the engine scores the prompt during prefill.
#include "quern/serve/api/completion_api.h"

#include "quern/serve/api/reply.h"
#include "quern/serve/chat/chat_request.h"
#include "quern/serve/chat/request_streams.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxPrompts = 256;

std::vector<int32_t> read_ids(const Json& list, const ServedModel& m) {
  std::vector<int32_t> ids;
  for (const Json& id : list.as_array()) {
    if (!id.is_int() || id.as_int() < 0 || id.as_int() >= m.model->vocab_size())
      bad_field("prompt", "token ids run from 0 to {}", m.model->vocab_size() - 1);
    ids.push_back(static_cast<int32_t>(id.as_int()));
  }
  return ids;
}

std::vector<std::vector<int32_t>> read_prompts(const Json& body, const ServedModel& m) {
  const Json* p = body.find("prompt");
  std::vector<std::vector<int32_t>> prompts;
  auto add_text = [&](const std::string& s) { prompts.push_back(m.tokenizer.encode(s, {})); };
  if (!p || p->is_null()) bad_field("prompt", "expected a text, token ids, or a list of either");
  if (p->is_string()) {
    add_text(p->as_string());
  } else if (p->is_array() && !p->as_array().empty() && p->as_array()[0].is_int()) {
    prompts.push_back(read_ids(*p, m));
  } else if (p->is_array()) {
    for (const Json& one : p->as_array()) {
      if (one.is_string())
        add_text(one.as_string());
      else if (one.is_array())
        prompts.push_back(read_ids(one, m));
      else
        bad_field("prompt", "expected a text, token ids, or a list of either");
    }
  } else {
    bad_field("prompt", "expected a text, token ids, or a list of either");
  }
  if (prompts.empty() || prompts.size() > kMaxPrompts)
    bad_field("prompt", "{} prompts, expected 1 to {}", prompts.size(), kMaxPrompts);
  for (std::vector<int32_t>& ids : prompts) {
    if (ids.empty() && m.tokenizer.bos_id() >= 0) ids.push_back(m.tokenizer.bos_id());
    if (ids.empty()) bad_field("prompt", "is empty, and this model has no begin token");
  }
  return prompts;
}

class TokenList {  // the `logprobs` object of a choice
 public:
  explicit TokenList(const text::Tokenizer& t) : tokenizer_(t) {}
  void add(int32_t token, const double* logprob, std::span<const infer::TokenLogprob> top) {
    const std::string text = tokenizer_.decode(std::span(&token, 1));
    tokens_.push(text), offsets_.push(offset_), logprobs_.push(logprob ? Json(*logprob) : Json());
    offset_ += static_cast<int64_t>(text.size());
    Json map;
    for (const infer::TokenLogprob& t : top) map.set(tokenizer_.decode(std::span(&t.token, 1)), t.logprob);
    top_.push(std::move(map));
  }
  Json json() const {
    Json j = Json::object();
    j.set("tokens", tokens_), j.set("token_logprobs", logprobs_), j.set("top_logprobs", top_),
        j.set("text_offset", offsets_);
    return j;
  }

 private:
  const text::Tokenizer& tokenizer_;
  Json tokens_ = Json::array(), logprobs_ = Json::array(), top_ = Json::array(), offsets_ = Json::array();
  int64_t offset_ = 0;
};

struct Choice {
  std::vector<int32_t> prompt;
  std::shared_ptr<GenerationStream> answer;
};

class CompletionReply final : public Reply {
 public:
  CompletionReply(ServedModel& m, Exchange& e, const Json& body)
      : Reply(m, e, "cmpl-"), prompts_(read_prompts(body, m)), answers_(*m.host, e) {
    const Fields f(body);
    options_ = read_generation(f, m.defaults, m.tokenizer, m.model->vocab_size());
    options_.adapters = m.adapters;
    seconds_ = read_timeout(f);
    options_.constraint = m.constraints->read(f, m.tokenizer, infer::ThinkStart::none);
    n_ = f.integer("n", 1, 64).value_or(1);
    progress_ = f.boolean("return_progress").value_or(false);
    echo_ = f.boolean("echo").value_or(false), stream_wanted_ = f.boolean("stream").value_or(false);
    if (const Json* o = f.find("stream_options"))
      include_usage_ = Fields(*o).boolean("include_usage").value_or(false);
    if (const Json* lp = f.find("logprobs"); lp && lp->is_bool())
      logprobs_ = lp->as_bool() ? 0 : -1;
    else
      logprobs_ = f.integer("logprobs", 0, 20).value_or(-1);
    options_.top_logprobs = std::max<int64_t>(0, logprobs_);
    max_tokens_ = f.integer("max_tokens", 0, int64_t{1} << 31).value_or(16);
    if (f.find("suffix")) bad_field("suffix", "is not supported: this server has no fill-in-the-middle");
    if (f.integer("best_of", 1, 64).value_or(n_) != n_) bad_field("best_of", "must equal n");
    if (stream_wanted_ && echo_) bad_field("echo", "is not supported together with stream");
    if (max_tokens_ == 0 && !echo_) bad_field("max_tokens", "0 needs echo: true");
  }

 private:
  void go() override {
    for (const std::vector<int32_t>& p : prompts_) {
      token_budget(m_, p.size(), max_tokens_, "max_tokens");
      for (int64_t i = 0; i < n_; ++i) submit(p, static_cast<uint64_t>(i));
    }
    if (stream_wanted_) stream_.emplace(e_);
    if (follow()) stream_ ? close_stream() : answer();
  }

  bool scored() const { return echo_ && logprobs_ >= 0; }

  void submit(const std::vector<int32_t>& prompt, uint64_t seed) {
    Choice c{.prompt = prompt, .answer = {}};
    infer::Request q{.prompt = prompt, .options = options_};
    q.options.sampling.seed += seed;
    q.options.max_tokens = max_tokens_;
    const bool tells = stream_wanted_ && progress_ && choices_.empty();  // of the first choice
    q.options.score_prompt = scored() && prompt.size() > 1;
    if (max_tokens_ > 0 || q.options.score_prompt) {
      c.answer = answers_.add(
          std::move(q),
          {.seconds = seconds_, .progress = tells, .streams = stream_wanted_, .each_token = logprobs_ >= 0});
      asked_.push_back(choices_.size());
    }
    choices_.push_back(std::move(c));
  }

  bool follow() {
    return answers_.follow(stream_ ? &*stream_ : nullptr,
                           {.piece =
                                [&](size_t a, const TextDelta& p) {
                                  if (stream_) send(asked_[a], p.text, "", p.token >= 0 ? &p : nullptr);
                                },
                            .done =
                                [&](size_t a) {
                                  const infer::Generated& g = result(asked_[a]);
                                  if (!stream_) return;
                                  if (const auto failure = failure_of(g))
                                    stream_->send(error_json(*failure));
                                  else
                                    end_choice(asked_[a], g);
                                },
                            .read =
                                [&](size_t a) {
                                  Json j = with_choices(Json::array());
                                  j.set("prompt_progress", progress_json(choices_[asked_[a]].answer->progress()));
                                  stream_->send(j);
                                }});
  }
  const infer::Generated& result(size_t i) const { return choices_[i].answer->result(); }

  Json with_choices(Json choices) const {
    Json j = envelope("text_completion");
    j.set("choices", std::move(choices));
    return j;
  }
  static Json choice_json(size_t index, const std::string& text, Json logprobs, const std::string& finish) {
    Json j = Json::object();
    j.set("index", static_cast<int64_t>(index)), j.set("text", text), j.set("logprobs", std::move(logprobs));
    j.set("finish_reason", finish.empty() ? Json() : Json(finish));
    return j;
  }
  void send(size_t i, const std::string& text, const std::string& finish, const TextDelta* p) {
    Json lp;
    if (p && logprobs_ >= 0) {
      TokenList list(m_.tokenizer);
      list.add(p->token, &p->logprob, p->top);
      lp = list.json();
    }
    if (text.empty() && finish.empty() && lp.is_null()) return;
    stream_->send(with_choices(Json(Json::Array{choice_json(i, text, std::move(lp), finish)})));
  }

  void end_choice(size_t i, const infer::Generated& g) {
    if (g.finish != "timeout") return send(i, "", finish_reason(g.finish), nullptr);
    Json j = with_choices(Json(Json::Array{choice_json(i, "", Json(), finish_reason(g.finish))}));
    j.set("x_warnings", Json(Json::Array{Json(kCutByTime)}));
    stream_->send(j);
  }

  Usage usage() const {
    Usage u;
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (i % static_cast<size_t>(n_) == 0) u.prompt += static_cast<int64_t>(choices_[i].prompt.size());
      if (!choices_[i].answer) continue;
      u.completion += static_cast<int64_t>(result(i).tokens.size());
      u.cached += result(i).cached_tokens;
    }
    return u;
  }

  void close_stream() {
    if (include_usage_) {
      Json j = with_choices(Json::array());
      j.set("usage", usage().json());
      stream_->send(j);
    }
    stream_->done();
  }

  void answer() {
    Json list = Json::array();
    const auto late = [](const Choice& c) { return c.answer && too_late(c.answer->result()); };
    const bool all_late = std::ranges::all_of(choices_, late);
    for (size_t i = 0; i < choices_.size(); ++i) {
      const Choice& c = choices_[i];
      if (c.answer)
        if (const auto failure = failure_of(result(i)); failure && (all_late || !late(c))) throw *failure;
      std::string text = c.answer ? result(i).text : std::string();
      if (echo_) text = m_.tokenizer.decode(c.prompt, text::SpecialTokens::skip) + text;
      Json lp;
      if (logprobs_ >= 0) {
        TokenList tokens(m_.tokenizer);
        if (echo_) tokens.add(c.prompt[0], nullptr, {});
        for (size_t k = 0; echo_ && c.answer && k < result(i).prompt_logprobs.size(); ++k)
          tokens.add(c.prompt[k + 1], &result(i).prompt_logprobs[k],
                     k < result(i).prompt_top.size() ? result(i).prompt_top[k] : std::vector<infer::TokenLogprob>());
        for (size_t k = 0; c.answer && k < result(i).tokens.size(); ++k)
          tokens.add(result(i).tokens[k], &result(i).logprobs[k],
                     k < result(i).top.size() ? result(i).top[k] : std::vector<infer::TokenLogprob>());
        lp = tokens.json();
      }
      list.push(choice_json(i, text, std::move(lp), c.answer ? finish_reason(result(i).finish) : "length"));
    }
    Json j = with_choices(std::move(list));
    j.set("usage", usage().json());
    if (choices_[0].answer) j.set("timings", timings_json(result(0)));
    const auto cut = [](const Choice& c) { return c.answer && c.answer->result().finish == "timeout"; };
    if (std::ranges::any_of(choices_, cut)) j.set("x_warnings", Json(Json::Array{Json(kCutByTime)}));
    e_.answer(200, "application/json", j.dump());
  }

  std::vector<std::vector<int32_t>> prompts_;
  infer::GenerateOptions options_;
  int64_t n_ = 1, max_tokens_ = 16, logprobs_ = -1;
  double seconds_ = 0;
  bool echo_ = false, stream_wanted_ = false, include_usage_ = false, progress_ = false;
  std::vector<Choice> choices_;
  RequestStreams answers_;
  std::vector<size_t> asked_;  // whose these are: a choice without tokens has none
};

}  // namespace

void completions(ServedModel& m, Exchange& e, const Json& body) { CompletionReply(m, e, body).run(); }

}  // namespace quern::serve
