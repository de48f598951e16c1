#include "quern/capi/session.h"

#include "quern/capi/chat_setup.h"
#include "quern/infer/cache/state_file.h"
#include "quern/models/fingerprint.h"
#include "quern/models/token_ids.h"

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

quern_session& idle(quern_session* session) {
  quern_session& s = required(session, "session");
  if (s.running) fail("the session is generating: step it to its end first, or cancel it and then do so");
  return s;
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
  note.set("messages", s.messages);
  const Prefill all(s, s.length());
  infer::save_state(file, fingerprint(*s.model), s.tokens, all.state(), note.dump());
}

void load(quern_session& s, const std::filesystem::path& file) {
  infer::PrefixCache& cache = s.model->engine->cache();
  infer::SavedState saved = infer::load_state(file, fingerprint(*s.model), cache.sites());
  const Json note = Json::parse(saved.note, file.string());
  const Json* messages = note.find("messages");
  if (messages) check_messages(*messages);
  s.messages = messages ? *messages : Json::array();
  cache.store(saved.tokens, saved.state, infer::SnapshotKind::turn_end);
  s.tokens = std::move(saved.tokens);
  s.last.reset();
}

int64_t append(quern_session& s, std::span<const int32_t> ids) {
  models::check_token_ids(ids, s.model->model->vocab_size());
  s.tokens.insert(s.tokens.end(), ids.begin(), ids.end());
  return s.length();
}

}  // namespace quern::capi
