// A generation of a session from its start to its end, one forward pass at a time: quern_session_generate and
// quern_chat_reply are its loop, and quern_session_step is one turn of it. Sessions of a model that have been started
// run in the same batches of its engine.
#pragma once
#include "quern/capi/chat_setup.h"
#include "quern/capi/handles.h"

namespace quern::capi {

using Listener = std::function<bool(const infer::Emitted&)>;

struct Running {
  infer::Engine::Id id = 0;
  std::vector<int32_t> prompt = {};
  std::unique_ptr<ReplyParts> reply = {};  // of a chat
  Listener on_token = {};
  bool listening = true;  // the engine may hold the request longer than the caller does
};

// Without a listener, the session keeps the text until it is asked for.
void start(quern_session& s, const quern_sampling* sampling, Listener on_token = {});
void start_reply(quern_session& s, const quern_sampling* sampling, Listener on_token = {});
bool step(quern_session& s);       // false: it has ended, and the session has what was generated
int64_t finish(quern_session& s);  // steps until then; returns the number of tokens

}  // namespace quern::capi
