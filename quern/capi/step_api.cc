// Generation in steps, and replies with tools, of quern.h.
#include "quern/capi/running.h"
#include "quern/capi/session.h"

using namespace quern::capi;

namespace {

// Hands out text once there is room for all of it.
int64_t hand_out(std::string& text, char* buffer, int64_t capacity) {
  const int64_t n = copy_out(text, buffer, capacity, "buffer");
  if (n < capacity) text.clear();
  return n;
}

}  // namespace

extern "C" {

int quern_session_start(quern_session* session, const quern_sampling* sampling) {
  return guarded(-1, [&] {
    start(idle(session), sampling);
    return 0;
  });
}

int quern_chat_start(quern_session* session, const quern_sampling* sampling) {
  return guarded(-1, [&] {
    start_reply(idle(session), sampling);
    return 0;
  });
}

int quern_session_step(quern_session* session) {
  return guarded(-1, [&] { return step(required(session, "session")) ? 1 : 0; });
}

int64_t quern_session_text(quern_session* session, char* buffer, int64_t capacity) {
  return guarded(int64_t{-1}, [&] { return hand_out(required(session, "session").text, buffer, capacity); });
}

int64_t quern_session_reasoning(quern_session* session, char* buffer, int64_t capacity) {
  return guarded(int64_t{-1}, [&] { return hand_out(required(session, "session").reasoning, buffer, capacity); });
}

int quern_chat_setup(quern_session* session, const char* setup_json) {
  return guarded(-1, [&] {
    quern_session& s = idle(session);
    quern::Json setup = setup_json ? quern::Json::parse(setup_json, "setup") : quern::Json::object();
    check_setup(setup);
    s.setup = std::move(setup);
    return 0;
  });
}

int64_t quern_chat_message(const quern_session* session, char* buffer, int64_t capacity) {
  return guarded(int64_t{-1}, [&] {
    const quern_session& s = required(session, "session");
    if (s.reply.is_null()) quern::fail("this session has no reply yet");
    return copy_out(s.reply.dump(), buffer, capacity, "buffer");
  });
}

}  // extern "C"
