// Prefill, as a batch of jobs: every key/value head of every segment. First its keys and values are packed, once for all
// query heads of the group, then blocks of queries are handed out, later ones first because they see more keys.
// A Kernel says how: kPackKeys, kQueryBlock, elements(keys), pack(job, key) and attend(job, query head, first query).
#pragma once
#include "quern/base/threads.h"
#include "quern/kernels/attention/attention_fast.h"

namespace quern::kernels {

template <class KV>
struct PrefillJob {  // one key/value head of one segment
  const AttentionSegment<KV>* segment = nullptr;
  int64_t head = 0, k_len = 0;
  uint32_t* packed = nullptr;
  int64_t first_item = 0, first_block = 0;
};

template <class KV, class Kernel>
class PrefillJobs {
 public:
  PrefillJobs(const Kernel& kernel, int64_t query_heads, Arena& scratch)
      : kernel_(kernel), query_heads_(query_heads), scratch_(scratch) {}

  void run(std::span<const AttentionSegment<KV>> segments) {
    int64_t heads = 0;
    for (const auto& s : segments) heads += s.k.shape[1];
    const std::span<PrefillJob<KV>> jobs = scratch_.take<PrefillJob<KV>>(heads);
    size_t n = 0;
    int64_t bytes = 0;
    auto flush = [&] {
      Arena::Scope scope(scratch_);
      batch(jobs.first(n));
      n = 0, bytes = 0;
    };
    for (const auto& s : segments)
      for (int64_t h = 0; s.q_len > 0 && h < s.k.shape[1]; ++h) {
        const int64_t more = kernel_.elements(s.k.shape[0]) * 4;
        if (n > 0 && bytes + more > kBatchBytes) flush();
        jobs[n++] = {&s, h, s.k.shape[0]};
        bytes += more;
      }
    flush();
  }

 private:
  using Job = PrefillJob<KV>;
  int64_t group(const Job& j) const { return query_heads_ / j.segment->k.shape[1]; }
  static int64_t blocks_of(const Job& j) {
    return round_up(j.segment->q_len, Kernel::kQueryBlock) / Kernel::kQueryBlock;
  }

  void batch(std::span<Job> jobs) {
    int64_t blocks = 0, items = 0;
    for (Job& j : jobs) {
      j.first_block = blocks, j.first_item = items;
      blocks += round_up(j.k_len, Kernel::kPackKeys) / Kernel::kPackKeys;
      items += blocks_of(j) * group(j);
      j.packed = scratch_.take<uint32_t>(kernel_.elements(j.k_len)).data();
    }
    auto find = [&](int64_t i, auto first) {
      return std::prev(
          std::upper_bound(jobs.begin(), jobs.end(), i, [&](int64_t x, const Job& j) { return x < j.*first; }));
    };
    parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        auto j = find(b, &Job::first_block);
        kernel_.pack(*j, (b - j->first_block) * Kernel::kPackKeys);
      }
    });
    parallel_dynamic(items, [&](int64_t i) {
      auto j = find(i, &Job::first_item);
      const int64_t at = i - j->first_item, h = at % group(*j), block = blocks_of(*j) - 1 - at / group(*j);
      kernel_.attend(*j, j->head * group(*j) + h, block * Kernel::kQueryBlock);
    });
  }

  const Kernel& kernel_;
  int64_t query_heads_;
  Arena& scratch_;
};

}  // namespace quern::kernels
