// The LM head multiplies the selected rows only; they are gathered unless all rows are selected.
#include "quern/infer/sampling/select_logits.h"

namespace quern::infer {

Tensor select_logits(models::Model& model, grad::Tape& tape, const Tensor& hidden, std::span<const int64_t> wanted) {
  Tensor rows = hidden;
  if (std::ssize(wanted) < hidden.dim(0)) {
    rows = Tensor::empty({std::ssize(wanted), hidden.dim(1)}, hidden.dtype());
    for (size_t i = 0; i < wanted.size(); ++i)
      rows.narrow(0, static_cast<int64_t>(i), 1).copy_from(hidden.narrow(0, wanted[i], 1));
  }
  return model.logits(tape, grad::Var(rows)).value.to(DType::f32);
}

}  // namespace quern::infer
