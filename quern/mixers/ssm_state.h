// What the state space mixers share: recurrent state seen by kernels, and convolution weights in both layouts.
// Checkpoints hold a depthwise convolution as [C, 1, K]; kernels need taps outermost, [K, C].
#pragma once
#include <vector>

#include "quern/mixers/mixer.h"

namespace quern::mixers {

inline DType ssm_state_dtype(DType kv) { return kv == DType::f64 ? DType::f64 : DType::f32; }

Tensor taps_outermost(const Tensor& w_C1K);
Tensor taps_innermost(const Tensor& w_KC);

// The part of every sequence of a batch as views of T; converted in and back where the state has another type.
template <class T, int R>
class SsmStates {
 public:
  // `part` outlives this.
  SsmStates(const Batch& batch, int site, std::string_view part, DType dtype) : site_(site), part_(part) {
    for (SequenceState* s : batch.states) {
      held_.push_back(&s->fixed(site, part));
      work_.push_back(held_.back()->to(dtype));
      views_.push_back(work_.back().template view<T, R>());
    }
  }
  ~SsmStates() {
    for (size_t i = 0; i < held_.size(); ++i)
      if (!work_[i].same_buffer(*held_[i])) held_[i]->copy_from(work_[i]);
  }
  SsmStates(const SsmStates&) = delete;
  SsmStates& operator=(const SsmStates&) = delete;
  std::span<const View<T, R>> views() const { return views_; }
  // The only state of the batch, as it is now, whole or one entry of its first axis. into may be null.
  void snapshot(SequenceState* into, int64_t head = -1) const {
    if (!into) return;
    QUERN_CHECK(work_.size() == 1);
    Tensor to = into->fixed(site_, part_);
    if (head < 0) return to.copy_from(work_[0]);
    to.narrow(0, head, 1).copy_from(work_[0].narrow(0, head, 1));
  }

 private:
  int site_;
  std::string_view part_;
  std::vector<Tensor*> held_;
  std::vector<Tensor> work_;
  std::vector<View<T, R>> views_;
};

}  // namespace quern::mixers
