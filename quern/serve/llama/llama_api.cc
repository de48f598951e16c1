// Answers in llama-server's form: one object, or an event with `stop` per piece.
#include "quern/serve/llama/llama_api.h"

#include "quern/base/version.h"
#include "quern/serve/api/embeddings_api.h"
#include "quern/serve/api/reply.h"
#include "quern/serve/chat/chat_turn.h"
#include "quern/serve/chat/text_request.h"
#include "quern/serve/llama/infill.h"
#include "quern/serve/llama/llama_fields.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

Json probability(const text::Tokenizer& tokenizer, const TextDelta& p) {
  Json j = chat_logprob(tokenizer, p.token, p.logprob, p.top), top = Json::array();
  j.set("id", int64_t{p.token});
  for (size_t i = 0; i < p.top.size(); ++i) {
    Json one = j.at("top_logprobs").as_array()[i];
    one.set("id", int64_t{p.top[i].token});
    top.push(std::move(one));
  }
  j.set("top_logprobs", std::move(top));
  return j;
}

class LlamaReply final : public Reply {
 public:
  LlamaReply(ServedModel& m, Exchange& e, const Json& body, ChatRequest r)
      : Reply(m, e, "cmpl-"),
        r_(std::move(r)),
        probabilities_wanted_(Fields(body).integer("n_probs", 0, 20).value_or(0) > 0),
        tokens_wanted_(Fields(body).boolean("return_tokens").value_or(false)),
        turn_(m_, r_, e) {}

 private:
  void go() override {
    if (r_.stream) stream_.emplace(e_);
    try {
      const auto take = [&](size_t, const ChatPart& part, const TextDelta* p) { pass_on(part, p); };
      const auto read = [&](const RequestProgress& p) {
        Json j = piece("");
        j.set("prompt_progress", progress_json(p));
        stream_->send(j);
      };
      const bool whole = turn_.follow(stream_ ? &*stream_ : nullptr, {.part = take, .done = {}, .progress = read});
      if (whole && stream_) stream_->send(final());
      if (whole && !stream_) e_.answer(200, "application/json", final().dump());
    } catch (const ApiError& error) {
      if (!stream_) throw;
      stream_->send("error", error_json(error));
    }
    if (stream_) stream_->end();
  }

  void pass_on(const ChatPart& part, const TextDelta* p) {
    const bool token = p && p->token >= 0;
    if (token) ++given_;
    if (token && probabilities_wanted_) probabilities_.push(probability(m_.tokenizer, *p));
    if (!stream_ || (part.words.content.empty() && !(token && r_.logprobs))) return;
    Json j = piece(part.words.content);
    if (token) j.set("tokens", Json(Json::Array{Json(int64_t{p->token})}));
    if (token && probabilities_wanted_)
      j.set("completion_probabilities", std::exchange(probabilities_, Json::array()));
    stream_->send(j);
  }

  Json piece(const std::string& text) const {
    Json j = Json::object();
    j.set("index", 0), j.set("content", text), j.set("tokens", Json::array()), j.set("stop", false);
    j.set("id_slot", -1), j.set("tokens_predicted", given_);
    j.set("tokens_evaluated", static_cast<int64_t>(r_.prompt.size()));
    return j;
  }

  Json final() {
    const ChatChoice& c = turn_.choices()[0];
    const infer::Generated& g = c.answer->result();
    said_ = c.content;
    Json j = piece(stream_ ? std::string() : c.content), ids = Json::array();
    if (tokens_wanted_ && !stream_)
      for (int32_t id : g.tokens) ids.push(id);
    j.set("tokens", std::move(ids)), j.set("stop", true), j.set("model", m_.id);
    const auto n = static_cast<int64_t>(g.tokens.size());
    j.set("tokens_predicted", n), j.set("tokens_evaluated", g.prompt_tokens);
    j.set("tokens_cached", g.prompt_tokens + n), j.set("generation_settings", llama_settings_json(r_.options));
    j.set("prompt", m_.tokenizer.decode(r_.prompt)), j.set("truncated", false);
    j.set("has_new_line", c.content.find('\n') != std::string::npos);
    const std::string word = c.stopped_by(m_.tokenizer, r_.options.stop);
    j.set("stop_type", g.finish != "stop" ? "limit" : word.empty() ? "eos" : "word"), j.set("stopping_word", word);
    if (probabilities_wanted_ && !stream_) j.set("completion_probabilities", probabilities_);
    j.set("timings", timings_json(g));
    return j;
  }

  ChatRequest r_;
  bool probabilities_wanted_, tokens_wanted_;
  ChatTurn turn_;
  Json probabilities_ = Json::array();
  int64_t given_ = 0;
};

ChatRequest read_llama_request(const ServedModel& m, const Json& own, std::vector<int32_t> prompt) {
  ChatRequest r = read_text_request(m, own, std::move(prompt));
  const Fields f(own);
  r.options.top_logprobs = f.integer("n_probs", 0, 20).value_or(0);
  r.logprobs = r.options.top_logprobs > 0 || f.boolean("return_tokens").value_or(false);
  return r;
}

}  // namespace

void llama_completion(ServedModel& m, Exchange& e, const Json& body) {
  const Json* prompt = Fields(body).find("prompt");
  if (!prompt) bad_field("prompt", "expected a text, token ids, or a list that mixes both");
  const Json own = own_fields(body, m.tokenizer);
  LlamaReply(m, e, body, read_llama_request(m, own, read_llama_prompt(*prompt, m))).run();
}

void llama_infill(ServedModel& m, Exchange& e, const Json& body) {
  const Json own = own_fields(body, m.tokenizer);
  ChatRequest r = read_llama_request(m, own, fill_prompt(m, read_fill(body)));
  if (!Fields(body).boolean("ignore_eos").value_or(false))
    for (int64_t id : fill_stops(m.tokenizer)) r.options.stop_ids.push_back(id);
  LlamaReply(m, e, body, std::move(r)).run();
}

void llama_embedding(ServedModel& m, Exchange& e, const Json& body) {
  const Json* content = Fields(body).find("content");
  Json asked = Json::object();
  if (const Json* input = content ? content : Fields(body).find("input")) asked.set("input", *input);
  if (asked.as_object().empty()) bad_field("content", "expected a text, token ids, or a list of either");
  const EmbeddedInputs all = embed_inputs(m, asked, e);
  if (e.gone()) return;
  Json list = Json::array();
  for (const std::vector<float>& v : all.rows) {
    Json one = Json::object(), numbers = Json::array();
    for (float x : v) numbers.push(static_cast<double>(x));
    one.set("index", static_cast<int64_t>(list.as_array().size()));
    one.set("embedding", Json(Json::Array{std::move(numbers)}));
    list.push(std::move(one));
  }
  e.answer(200, "application/json", list.dump());
}

void tell_llama_props(const ServedModel& m, Json& props) {
  Json settings = Json::object(), modalities = Json::object();
  settings.set("id", 0), settings.set("id_task", -1), settings.set("n_ctx", m.max_tokens());
  settings.set("speculative", m.draft != nullptr), settings.set("is_processing", false);
  infer::GenerateOptions o;
  o.sampling = m.defaults.defaults(), o.max_tokens = -1;
  settings.set("params", llama_settings_json(o));
  modalities.set("vision", false), modalities.set("audio", false);
  const auto spelled = [&](int32_t id) { return id >= 0 ? m.tokenizer.id_to_token(id) : std::string(); };
  props.set("default_generation_settings", std::move(settings));
  props.set("total_slots", m.host ? m.host->max_sequences() : 0);
  props.set("model_alias", m.id), props.set("model_path", m.id), props.set("modalities", std::move(modalities));
  props.set("chat_template", m.chat_template.source());
  props.set("bos_token", spelled(m.tokenizer.bos_id())), props.set("eos_token", spelled(m.tokenizer.eos_id()));
  props.set("build_info", fmt::format("quern {}", quern::version()));
}

}  // namespace quern::serve
