#include "quern/models/head.h"

#include "quern/base/error.h"
#include "quern/nn/ops.h"

namespace quern {

Head::Head(int64_t vocab, int64_t width, bool tied)
    : tied_(tied), embed_({vocab, width}, Init::normal()), out_({vocab, width}, Init::normal()) {
  embed_.matrix = out_.matrix = true;
}

void Head::visit(const std::string& prefix, const ParameterVisitor& v) {
  v(prefix + "model.embed_tokens.weight", embed_);
  if (!tied_) v(prefix + "lm_head.weight", out_);
}

void Head::pack(DType t) {
  packed_ = kernels::PackedLinear::pack(out().value, t);
  if (!tied_) out_.value = Tensor();
}

Var Head::embed(Tape& tape, std::span<const int32_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= embed_.shape[0])
      fail("token {} at position {}: ids run from 0 to {}", ids[i], i, embed_.shape[0] - 1);
  return embedding(tape, embed_, ids);
}

Var Head::logits(Tape& tape, const Var& hidden_TD) {
  if (!tape.recording() && packed_.defined()) {
    Tensor y = Tensor::empty({hidden_TD.dim(0), embed_.shape[0]}, DType::f32);
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    packed_.apply(hidden_TD.value.view<const float, 2>(), {}, y.view<float, 2>(), scratch);
    return y;
  }
  return head_logits(tape, hidden_TD, out());
}

Var Head::loss(Tape& tape, const Var& hidden_TD, std::span<const int32_t> targets) {
  return head_loss(tape, hidden_TD, out(), targets, {});
}

}  // namespace quern
