#include "quern/infer/session.h"

#include <algorithm>
#include <chrono>

#include "quern/base/error.h"

namespace quern {
namespace {
double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}
}  // namespace

Session::Session(Model& model, DType kv) : model_(&model), state_(model.sites(kv)) {}

std::span<const float> Session::feed(std::span<const int32_t> tokens, int64_t chunk) {
  QUERN_CHECK(!tokens.empty() && chunk > 0);
  int64_t n = static_cast<int64_t>(tokens.size());
  if (length() + n > model_->max_positions())
    fail("the context would hold {} tokens; this model's limit is {} (max_position_embeddings)", length() + n,
         model_->max_positions());
  for (size_t i = 0; i < tokens.size(); ++i)  // before anything is fed: a refused call leaves the session as it was
    if (tokens[i] < 0 || tokens[i] >= model_->vocab_size())
      fail("token {} at position {}: ids run from 0 to {}", tokens[i], i, model_->vocab_size() - 1);
  for (int64_t at = 0; at < n; at += chunk) {
    int64_t len = std::min(chunk, n - at);
    Tape tape(Tape::inference);
    Var h_TD = model_->hidden(tape, tokens.subspan(static_cast<size_t>(at), static_cast<size_t>(len)),
                              Batch::resume({&state_}, {len}));
    if (at + len == n) logits_ = model_->logits(tape, Var(h_TD.value.narrow(0, len - 1, 1))).value.to(DType::f32);
  }
  return logits_.span<float>();
}

Generated generate(Session& session, std::span<const int32_t> prompt, const GenerateOptions& o,
                   const std::function<bool(int32_t)>& on_token) {
  check(o.sampling);
  if (prompt.empty()) fail("the prompt is empty: give at least one token");
  Generated g;
  auto start = std::chrono::steady_clock::now();
  std::span<const float> logits = session.feed(prompt);
  g.prompt_seconds = seconds_since(start);
  start = std::chrono::steady_clock::now();
  g.finish = "length";
  for (int64_t i = 0; i < o.max_tokens; ++i) {
    Sampled s = sample(logits, o.sampling, static_cast<uint64_t>(session.length()));
    if (std::find(o.stop_ids.begin(), o.stop_ids.end(), s.token) != o.stop_ids.end()) {
      g.finish = "stop";
      break;
    }
    g.tokens.push_back(s.token);
    g.logprobs.push_back(s.logprob);
    if (on_token && !on_token(s.token)) {
      g.finish = "cancelled";
      break;
    }
    if (i + 1 < o.max_tokens) logits = session.feed({&s.token, 1});
  }
  g.decode_seconds = seconds_since(start);
  return g;
}

Tensor all_logits(Model& model, std::span<const int32_t> tokens) {
  if (tokens.empty()) fail("no tokens given");
  Tape tape(Tape::inference);
  Var h = model.hidden(tape, tokens, Batch::single(static_cast<int64_t>(tokens.size())));
  return model.logits(tape, h).value.to(DType::f32);
}

}  // namespace quern
