// Session and chat functions of quern.h.
#include "quern/capi/session.h"

#include "quern/capi/running.h"

using namespace quern::capi;

extern "C" {

quern_session* quern_session_new(quern_model* model) {
  return guarded(static_cast<quern_session*>(nullptr), [&] { return new quern_session(&required(model, "model")); });
}

quern_session* quern_session_fork(const quern_session* session) {
  return guarded(static_cast<quern_session*>(nullptr), [&] {
    const quern_session& s = required(session, "session");
    auto fork = std::make_unique<quern_session>(s.model);
    fork->tokens = s.tokens, fork->messages = s.messages, fork->setup = s.setup;
    fork->last = s.last, fork->reply = s.reply;
    return fork.release();
  });
}

void quern_session_free(quern_session* session) { delete session; }

void quern_session_reset(quern_session* session) {
  if (!session) return;
  drop_running(*session);
  session->tokens.clear();
  session->messages = quern::Json::array();
  session->last.reset();
  session->reply = quern::Json();
}

int64_t quern_session_append(quern_session* session, const char* text) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = idle(session);
    return append(s, s.model->tokenizer.encode(required(text, "text"), {.add_special_tokens = s.tokens.empty()}));
  });
}

int64_t quern_session_append_tokens(quern_session* session, const int32_t* ids, int64_t n) {
  return guarded(int64_t{-1}, [&] { return append(idle(session), required(ids, n, "ids")); });
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
    quern_session& s = idle(session);
    return Prefill(s, s.length()).computed();
  });
}

int64_t quern_session_logits(quern_session* session, float* logits, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = idle(session);
    const int64_t vocab = s.model->model->vocab_size();
    if (capacity < vocab) return vocab;
    const Prefill all(s, s.length() - 1);  // the last token is computed again: its logits are not kept
    return copy_out<float>(all.logits(), logits, capacity, "logits");
  });
}

int64_t quern_session_generate(quern_session* session, const quern_sampling* sampling, quern_on_text on_text,
                               void* user) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = idle(session);
    start(s, sampling, on_token_of(on_text, user));
    return finish(s);
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
    save(idle(session), required(file, "file"));
    return 0;
  });
}

int quern_session_load(quern_session* session, const char* file) {
  return guarded(-1, [&] {
    load(idle(session), required(file, "file"));
    return 0;
  });
}

int64_t quern_chat_add(quern_session* session, const char* role, const char* content) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = idle(session);
    quern::Json message = quern::Json::object();
    message.set("role", required(role, "role")), message.set("content", required(content, "content"));
    s.messages.push(std::move(message));
    return static_cast<int64_t>(s.messages.as_array().size());
  });
}

int64_t quern_chat_set(quern_session* session, const char* messages_json) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = idle(session);
    quern::Json messages = quern::Json::parse(required(messages_json, "messages_json"), "messages");
    check_messages(messages);
    s.messages = std::move(messages);
    return static_cast<int64_t>(s.messages.as_array().size());
  });
}

int64_t quern_chat_messages(const quern_session* session, char* buffer, int64_t capacity) {
  return guarded(int64_t{-1},
                 [&] { return copy_out(required(session, "session").messages.dump(), buffer, capacity, "buffer"); });
}

int64_t quern_chat_reply(quern_session* session, const quern_sampling* sampling, quern_on_text on_text, void* user) {
  return guarded(int64_t{-1}, [&] {
    quern_session& s = idle(session);
    start_reply(s, sampling, on_token_of(on_text, user));
    return finish(s);
  });
}

}  // extern "C"
