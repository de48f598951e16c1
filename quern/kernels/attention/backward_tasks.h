// Backward, as tasks: one a (segment, query head). A task leaves gq and sums of gk and gv of its own, which are added up
// over the heads of a group afterwards, in head order, so that the result does not depend on the number of threads.
// A Kernel is a BackwardSums with a call operator for one task.
#pragma once
#include "quern/base/threads.h"
#include "quern/kernels/attention/attention_fast.h"

namespace quern::kernels {

struct BackwardTask {
  int64_t begin = 0, n = 0, head = 0, kv_head = 0;  // token rows [begin, begin + n)
  float* gkv = nullptr;                             // [n][gkv_row] sums of this query head: gk, then gv
};

class BackwardSums {
 public:
  BackwardSums(const AttentionBackwardArgs<float>& a, int64_t round_to)
      : in_(a), d_(a.q.shape[2]), dv_(a.v.shape[2]), dp_(round_up(d_, round_to)), dvp_(round_up(dv_, round_to)) {}

  int64_t gkv_row() const { return dp_ + dvp_; }

  // gk and gv of a key head: its group's sums, without the scale of q but for log2 e.
  void reduce(std::span<const BackwardTask> group) const {
    const BackwardTask& t = group[0];
    for (int64_t j = 0; j < t.n; ++j) {
      float *gk = &in_.grads.gk(t.begin + j, t.kv_head, 0), *gv = &in_.grads.gv(t.begin + j, t.kv_head, 0);
      for (int64_t c = 0; c < d_; ++c) gk[c] = static_cast<float>(kLn2) * t.gkv[j * gkv_row() + c];
      for (int64_t c = 0; c < dv_; ++c) gv[c] = t.gkv[j * gkv_row() + dp_ + c];
      for (const BackwardTask& h : group.subspan(1)) {
        const float* from_head = h.gkv + j * gkv_row();
        for (int64_t c = 0; c < d_; ++c) gk[c] += static_cast<float>(kLn2) * from_head[c];
        for (int64_t c = 0; c < dv_; ++c) gv[c] += from_head[dp_ + c];
      }
    }
  }

 protected:
  const AttentionBackwardArgs<float>& in_;
  int64_t d_, dv_, dp_, dvp_;  // head sizes, and padded
};

inline int64_t longest_segment(std::span<const int32_t> offsets) {
  int64_t longest = 0;
  for (size_t s = 1; s < offsets.size(); ++s) longest = std::max<int64_t>(longest, offsets[s] - offsets[s - 1]);
  return longest;
}

template <class Kernel>
void run_backward(const Kernel& kernel, const AttentionBackwardArgs<float>& a, Arena& scratch) {
  const int64_t hq = a.q.shape[1], hkv = a.k.shape[1], group = hq / hkv;
  const std::span<BackwardTask> tasks = scratch.take<BackwardTask>(static_cast<int64_t>(a.offsets.size() - 1) * hq);
  size_t n = 0;
  int64_t bytes = 0;
  auto flush = [&] {
    Arena::Scope batch(scratch);
    for (BackwardTask& t : tasks.first(n)) t.gkv = scratch.take<float>(t.n * kernel.gkv_row()).data();
    parallel_dynamic(static_cast<int64_t>(n), [&](int64_t i) { kernel(tasks[static_cast<size_t>(i)]); });
    parallel_dynamic(static_cast<int64_t>(n) / group, [&](int64_t i) {
      kernel.reduce(tasks.subspan(static_cast<size_t>(i * group), static_cast<size_t>(group)));
    });
    n = 0, bytes = 0;
  };
  for (size_t s = 0; s + 1 < a.offsets.size(); ++s)
    for (int64_t g = 0; g < hkv; ++g) {
      const int64_t begin = a.offsets[s], len = a.offsets[s + 1] - begin, more = group * len * kernel.gkv_row() * 4;
      if (len == 0) continue;
      // A batch too small for the threads would leave some idle: then memory gives way.
      if (n >= static_cast<size_t>(2 * thread_count()) && bytes + more > kBatchBytes) flush();
      for (int64_t h = 0; h < group; ++h) tasks[n++] = {begin, len, g * group + h, g, nullptr};
      bytes += more;
    }
  flush();
}

}  // namespace quern::kernels
