#include "apps/quern/train/step_line.h"

namespace quern::cli {
namespace {

std::string duration(double seconds) {
  int64_t s = static_cast<int64_t>(seconds);
  if (s >= 3600) return fmt::format("{} h {:02} min", s / 3600, s / 60 % 60);
  return s >= 60 ? fmt::format("{} min {:02} s", s / 60, s % 60) : fmt::format("{} s", s);
}

}  // namespace

void StepLine::show(const train::Trainer& t) {
  const train::StepMetrics& m = t.last();
  smooth_ = smooth_ == 0 ? m.loss : 0.9 * smooth_ + 0.1 * m.loss;
  pace_ = pace_ == 0 ? m.time_s : 0.9 * pace_ + 0.1 * m.time_s;
  since_ += m.time_s;
  if (!line_.terminal() && since_ < 10 && m.step < t.steps()) return;
  since_ = 0;
  if (m.reward) {
    line_.show(fmt::format(
        "step {:>6}/{}  reward {:.3f}  signal {:.2f}  difficulty {:.1f}  {:.0f} tokens  kl {:.1e}"
        "  |g| {:.2f}  {:.1f} s  {} left",
        m.step, t.steps(), *m.reward, m.signal.value_or(0), m.difficulty.value_or(0), m.answer_tokens.value_or(0),
        m.kl.value_or(0), m.grad_norm, m.time_s, duration(pace_ * static_cast<double>(t.steps() - m.step))));
    return;
  }
  if (m.margin) {
    line_.show(
        fmt::format("step {:>6}/{}  loss {:.4f}  margin {:.3f}  accuracy {:.2f}  lr {:.2e}  |g| {:.2f}  {} left",
                    m.step, t.steps(), smooth_, *m.margin, m.accuracy.value_or(0), m.lr, m.grad_norm,
                    duration(pace_ * static_cast<double>(t.steps() - m.step))));
    return;
  }
  line_.show(fmt::format("step {:>6}/{}  loss {:.4f}{}  lr {:.2e}  |g| {:.2f}  {:.0f} tokens/s{}  {} left", m.step,
                         t.steps(), smooth_, m.bpb ? fmt::format("  {:.3f} bpb", *m.bpb) : "", m.lr, m.grad_norm,
                         m.tokens_per_s.value_or(0), m.mfu ? fmt::format("  mfu {:.0f} %", 100 * *m.mfu) : "",
                         duration(pace_ * static_cast<double>(t.steps() - m.step))));
}

}  // namespace quern::cli
