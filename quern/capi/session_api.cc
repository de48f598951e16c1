// Session and chat functions of quern.h.
#include "quern/capi/session.h"

using namespace quern::capi;

extern "C" {

quern_session* quern_session_new(quern_model* model) {
  return guarded(static_cast<quern_session*>(nullptr),
                 [&] { return new quern_session{.model = &required(model, "model")}; });
}

quern_session* quern_session_fork(const quern_session* session) {
  return guarded(static_cast<quern_session*>(nullptr), [&] {
    const quern_session& s = required(session, "session");
    return new quern_session{.model = s.model, .tokens = s.tokens, .messages = s.messages, .last = s.last};
  });
}

void quern_session_free(quern_session* session) { delete session; }

void quern_session_reset(quern_session* session) {
  if (!session) return;
  session->tokens.clear();
  session->messages.clear();
  session->last.reset();
}

int64_t quern_session_append(quern_session* session, const char* text) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = required(session, "session");
    return append(s, s.model->tokenizer.encode(required(text, "text"), {.add_special_tokens = s.tokens.empty()}));
  });
}

int64_t quern_session_append_tokens(quern_session* session, const int32_t* ids, int64_t n) {
  return guarded(int64_t{-1}, [&] { return append(required(session, "session"), required(ids, n, "ids")); });
}

int64_t quern_session_length(const quern_session* session) {
  return guarded(int64_t{-1}, [&] { return required(session, "session").length(); });
}

int64_t quern_session_tokens(const quern_session* session, int32_t* ids, int64_t capacity) {
  return guarded(int64_t{-1},
                 [&] { return copy_out<int32_t>(required(session, "session").tokens, ids, capacity, "ids"); });
}

int64_t quern_session_prefill(quern_session* session) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = required(session, "session");
    return Prefill(s, s.length()).computed();
  });
}

int64_t quern_session_logits(quern_session* session, float* logits, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = required(session, "session");
    const int64_t vocab = s.model->model->vocab_size();
    if (capacity < vocab) return vocab;
    const Prefill all(s, s.length() - 1);  // the last token is computed again: its logits are not kept
    return copy_out<float>(all.logits(), logits, capacity, "logits");
  });
}

int64_t quern_session_generate(quern_session* session, const quern_sampling* sampling, quern_on_text on_text,
                               void* user) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = required(session, "session");
    return generate(s, s.tokens, options_of(sampling, *s.model, quern::infer::ThinkStart::none), {on_text, user});
  });
}

void quern_session_cancel(quern_session* session) {
  if (session) session->cancelled = true;
}

int64_t quern_session_result(const quern_session* session, char* buffer, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const quern_session& s = required(session, "session");
    if (!s.last) quern::fail("this session has generated nothing yet");
    return copy_out(result_json(*s.last, s.model->tokenizer).dump(), buffer, capacity, "buffer");
  });
}

int quern_session_save(quern_session* session, const char* file) {
  return guarded(-1, [&] {
    save(required(session, "session"), required(file, "file"));
    return 0;
  });
}

int quern_session_load(quern_session* session, const char* file) {
  return guarded(-1, [&] {
    load(required(session, "session"), required(file, "file"));
    return 0;
  });
}

int64_t quern_chat_add(quern_session* session, const char* role, const char* content) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = required(session, "session");
    s.messages.push_back({std::string(required(role, "role")), std::string(required(content, "content"))});
    return static_cast<int64_t>(s.messages.size());
  });
}

int64_t quern_chat_set(quern_session* session, const char* messages_json) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = required(session, "session");
    s.messages =
        quern::text::messages_from_json(quern::Json::parse(required(messages_json, "messages_json"), "messages"));
    return static_cast<int64_t>(s.messages.size());
  });
}

int64_t quern_chat_messages(const quern_session* session, char* buffer, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    return copy_out(quern::text::messages_json(required(session, "session").messages).dump(), buffer, capacity,
                    "buffer");
  });
}

int64_t quern_chat_reply(quern_session* session, const quern_sampling* sampling, quern_on_text on_text, void* user) {
  return guarded(int64_t{-1}, [&] { return reply(required(session, "session"), sampling, {on_text, user}); });
}

}  // extern "C"
