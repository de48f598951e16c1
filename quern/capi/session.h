// What the session and chat functions of quern.h do. A session holds token ids and messages; its KV cache and recurrent
// state are in the prefix cache of the model's engine, which all sessions of a model share.
#pragma once
#include "quern/base/json.h"
#include "quern/capi/handles.h"
#include "quern/infer/cache/session.h"

namespace quern::capi {

// State after all tokens of a session: of up to `limit` of them from the cache, of the others by a forward pass. The
// cache then knows all of them.
class Prefill {
 public:
  Prefill(quern_session& s, int64_t limit);
  int64_t computed() const { return computed_; }             // tokens that were not in the cache
  std::span<const float> logits() const { return logits_; }  // after the last token; none if nothing was computed
  const mixers::SequenceState& state() const { return session_.state(); }

 private:
  infer::Session session_;
  int64_t computed_ = 0;
  std::span<const float> logits_;
};

// The session, which must not be generating: what was started would end on other tokens than it began with.
quern_session& idle(quern_session* s);

int64_t append(quern_session& s, std::span<const int32_t> ids);  // throws Error naming an id that is none
Json result_json(const infer::Generated& g, const text::Tokenizer& tokenizer);

// The format of `quern run --chat-file`: tokens, state, and the messages as its note.
void save(quern_session& s, const std::filesystem::path& file);
void load(quern_session& s, const std::filesystem::path& file);

}  // namespace quern::capi
