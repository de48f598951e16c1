#include "quern/capi/session.h"

#include "quern/infer/cache/state_file.h"
#include "quern/models/fingerprint.h"
#include "quern/models/token_ids.h"
#include "quern/text/chat/chat_prompt.h"

namespace quern::capi {

Prefill::Prefill(quern_session& s, int64_t limit) : session_(*s.model->model, s.model->kv) {
  if (s.tokens.empty()) fail("the session is empty: append text or tokens first");
  infer::PrefixCache& cache = s.model->engine->cache();
  cache.resume(s.tokens, limit, session_.state());
  const auto rest = std::span<const int32_t>(s.tokens).subspan(static_cast<size_t>(session_.length()));
  computed_ = static_cast<int64_t>(rest.size());
  if (rest.empty()) return;
  logits_ = session_.feed(rest);
  cache.store(s.tokens, session_.state(), infer::SnapshotKind::turn_end);
}

namespace {

const std::string& fingerprint(quern_model& m) {
  if (m.fingerprint.empty()) m.fingerprint = models::model_fingerprint(m.folder, m.weights, m.adapter);
  return m.fingerprint;
}

}  // namespace

int64_t generate(quern_session& s, std::vector<int32_t> prompt, infer::GenerateOptions options, Callback on_text) {
  infer::Engine& engine = *s.model->engine;
  const auto listening = std::make_shared<bool>(true);
  infer::Request r{.prompt = prompt,
                   .options = std::move(options),
                   .on_token = [listening, on_token = on_token_of(on_text.call, on_text.user)](
                                   const infer::Emitted& e) { return *listening && on_token(e); }};
  s.cancelled = false;
  const infer::Engine::Id id = engine.submit(std::move(r));
  std::optional<infer::Generated> g;
  try {
    while (!(g = engine.take(id))) {
      if (s.cancelled) engine.cancel(id);
      engine.step();
    }
  } catch (...) {  // the request may still be in the engine, the callback's `user` is not
    *listening = false;
    engine.cancel(id);
    throw;
  }
  if (g->finish == "error") fail("{}", g->error);
  s.tokens = std::move(prompt);
  s.tokens.insert(s.tokens.end(), g->tokens.begin(), g->tokens.end());
  s.last = std::move(g);
  return static_cast<int64_t>(s.last->tokens.size());
}

Json result_json(const infer::Generated& g, const text::Tokenizer& tokenizer) {
  Json j = Json::object(), tokens = Json::array(), logprobs = Json::array();
  for (int32_t t : g.tokens) tokens.push(t);
  for (double p : g.logprobs) logprobs.push(p);
  j.set("text", g.text), j.set("tokens", std::move(tokens)), j.set("logprobs", std::move(logprobs));
  if (!g.top.empty()) {
    Json all = Json::array();
    for (const auto& at : g.top) {
      Json list = Json::array();
      for (const infer::TokenLogprob& t : at) {
        Json one = Json::object();
        one.set("token", t.token), one.set("text", tokenizer.id_to_token(t.token)), one.set("logprob", t.logprob);
        list.push(std::move(one));
      }
      all.push(std::move(list));
    }
    j.set("top_logprobs", std::move(all));
  }
  j.set("finish", g.finish), j.set("prompt_tokens", g.prompt_tokens), j.set("cached_tokens", g.cached_tokens);
  j.set("prompt_seconds", g.prompt_seconds), j.set("decode_seconds", g.decode_seconds);
  return j;
}

void save(quern_session& s, const std::filesystem::path& file) {
  Json note = Json::object();
  note.set("messages", text::messages_json(s.messages));
  const Prefill all(s, s.length());
  infer::save_state(file, fingerprint(*s.model), s.tokens, all.state(), note.dump());
}

void load(quern_session& s, const std::filesystem::path& file) {
  infer::PrefixCache& cache = s.model->engine->cache();
  infer::SavedState saved = infer::load_state(file, fingerprint(*s.model), cache.sites());
  const Json note = Json::parse(saved.note, file.string());
  const Json* messages = note.find("messages");
  s.messages = messages ? text::messages_from_json(*messages) : std::vector<text::Message>();
  cache.store(saved.tokens, saved.state, infer::SnapshotKind::turn_end);
  s.tokens = std::move(saved.tokens);
  s.last.reset();
}

int64_t append(quern_session& s, std::span<const int32_t> ids) {
  models::check_token_ids(ids, s.model->model->vocab_size());
  s.tokens.insert(s.tokens.end(), ids.begin(), ids.end());
  return s.length();
}

int64_t reply(quern_session& s, const quern_sampling* sampling, Callback on_text) {
  const quern_model& m = *s.model;
  if (s.messages.empty()) fail("the chat is empty: add a message first");
  const text::PromptText prompt = text::chat_prompt(m.chat_template, m.tokenizer, text::messages_json(s.messages));
  const infer::ThinkStart start = prompt.opens_thinking() ? infer::ThinkStart::opened : infer::ThinkStart::may_open;
  const int64_t n = generate(s, prompt.encode(m.tokenizer), options_of(sampling, m, start), on_text);
  s.messages.push_back({"assistant", s.last->text});
  return n;
}

}  // namespace quern::capi
