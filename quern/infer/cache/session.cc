#include "quern/infer/cache/session.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/models/token_ids.h"

namespace quern::infer {
Session::Session(models::Model& model, DType kv) : model_(&model), state_(model.sites(kv)) {}

std::span<const float> Session::feed(std::span<const int32_t> tokens, int64_t chunk) {
  QUERN_CHECK(!tokens.empty() && chunk > 0);
  int64_t n = static_cast<int64_t>(tokens.size());
  if (length() + n > model_->max_positions())
    fail("the context would hold {} tokens; this model's limit is {}", length() + n, model_->max_positions());
  models::check_token_ids(tokens, model_->vocab_size());  // a refused call leaves the session as it was
  for (int64_t at = 0; at < n; at += chunk) {
    int64_t len = std::min(chunk, n - at);
    grad::Tape tape(grad::Tape::inference);
    grad::Var h_TD = model_->hidden(tape, tokens.subspan(static_cast<size_t>(at), static_cast<size_t>(len)),
                                    mixers::Batch::resume({&state_}, {len}));
    if (at + len == n)
      logits_ = model_->logits(tape, grad::Var(h_TD.value.narrow(0, len - 1, 1))).value.to(DType::f32);
  }
  return logits_.span<float>();
}

Tensor all_logits(models::Model& model, std::span<const int32_t> tokens) {
  if (tokens.empty()) fail("no tokens given");
  grad::Tape tape(grad::Tape::inference);
  grad::Var h = model.hidden(tape, tokens, mixers::Batch::single(static_cast<int64_t>(tokens.size())));
  return model.logits(tape, h).value.to(DType::f32);
}

}  // namespace quern::infer
