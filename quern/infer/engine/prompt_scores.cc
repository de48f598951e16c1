// Logits of a block of rows at a time, since those of a whole prompt would not fit in memory.
#include "quern/infer/engine/prompt_scores.h"

#include <algorithm>

#include "quern/base/threads.h"

namespace quern::infer {
namespace {

constexpr int64_t kScoredRows = 128;  // whose logits are held at once: 134 MB at a vocabulary of 262K

}  // namespace

void score_prompt(models::Model& model, const StepSegment& segment, const Tensor& hidden, int64_t first_row) {
  Sequence& s = *segment.sequence;
  if (!s.r.options.score_prompt) return;
  const int64_t fed = s.fed() - segment.drafted();  // of its own tokens
  const int64_t at = fed - segment.rows, end = std::min(fed, s.prompt - 1), maximum = s.r.options.top_logprobs;
  for (int64_t from = at; from < end; from += kScoredRows) {
    const int64_t n = std::min(kScoredRows, end - from), first = from + 1;
    grad::Tape tape(grad::Tape::inference);
    const Tensor x = model.logits(tape, grad::Var(hidden.narrow(0, first_row + from - at, n))).value.to(DType::f32);
    s.out.prompt_logprobs.resize(static_cast<size_t>(from + n));
    if (maximum > 0) s.out.prompt_top.resize(static_cast<size_t>(from + n));
    parallel_dynamic(n, [&](int64_t i) {
      const auto k = static_cast<size_t>(from + i);
      const std::span<const float> logits(x.view<const float, 2>().row(i), static_cast<size_t>(x.dim(1)));
      s.out.prompt_logprobs[k] = logprob_of(logits, s.tokens[static_cast<size_t>(first + i)]);
      if (maximum > 0) s.out.prompt_top[k] = top_logprobs(logits, maximum);
    });
  }
}

}  // namespace quern::infer
