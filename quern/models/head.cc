#include "quern/models/head.h"

#include "quern/base/threads.h"
#include "quern/models/token_ids.h"
#include "quern/nn/frozen_linear.h"

namespace quern::models {

Head::Head(int64_t vocab, int64_t width, OutputMatrix output, std::string embedding)
    : tied_(output == OutputMatrix::tied),
      embedding_(std::move(embedding)),
      embed_({vocab, width}, grad::Init::normal()),
      out_({vocab, width}, grad::Init::normal()) {
  embed_.matrix = out_.matrix = true;
  embed_.kind = grad::ParameterKind::embedding;
  out_.kind = grad::ParameterKind::head;
}

void Head::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  v(prefix + embedding_, embed_);
  if (!tied_) v(prefix + "lm_head.weight", out_);
}

void Head::pack(const nn::WeightPrepacking& all) {
  const nn::WeightPrepacking t = all.of_head();
  if (!t.packs()) return;
  const int64_t n = out().shape[0], k = out().shape[1];
  packed_ = t.matrix(tied_ ? embedding_ : "lm_head.weight", n, k, [&] { return out().value; });
  if (t.scheme().quantized()) {
    packed_embed_ = tied_ ? packed_ : t.matrix(embedding_, n, k, [&] { return embed_.value; });
    embed_.value = Tensor();
  }
  if (!tied_) out_.value = Tensor();
}

grad::Var Head::embed(grad::Tape& tape, std::span<const int32_t> ids) {
  check_token_ids(ids, embed_.shape[0]);
  if (!packed_embed_.defined()) return nn::embedding(tape, embed_, ids);
  Tensor y = Tensor::empty({static_cast<int64_t>(ids.size()), embed_.shape[1]}, DType::f32);
  View<float, 2> rows = y.view<float, 2>();
  parallel_for(y.dim(0), 8, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      packed_embed_.row(ids[static_cast<size_t>(t)], {rows.row(t), {rows.shape[1]}});
  });
  return y;
}

// The output matrix on a tape: the parameter, or what was packed.
nn::HeadWeight Head::output(grad::Tape& tape) {
  if (!out().value.defined()) return packed_;
  grad::Var w = tape.param(out());
  return w.dtype() == DType::bf16 ? grad::Var(w.value.to(DType::f32)) : w;
}

grad::Var Head::logits(grad::Tape& tape, const grad::Var& hidden_TD) {
  if (packed_.defined()) return nn::frozen_linear(tape, hidden_TD, packed_, {}, {packed_.n()})[0];
  return nn::head_logits(tape, hidden_TD, out());
}

grad::Var Head::loss(grad::Tape& tape, const grad::Var& hidden_TD, std::span<const int32_t> targets) {
  return nn::head_loss(tape, hidden_TD, output(tape), targets, {});
}

grad::Var Head::objective(grad::Tape& tape, const grad::Var& hidden_TD, const nn::HeadTerms& terms) {
  return nn::head_objective(tape, hidden_TD, output(tape), terms);
}

}  // namespace quern::models
