// Prefill: tiled attention with an online softmax.
//   1. per (segment, key/value head), once for all query heads of its group: K transposed into panels of 64 keys
//      [d][64] and V padded to [keys][dv'], both as the tile kernels read them;
//   2. per (job, query head, block of queries), later blocks first because they are longer: for every 128 keys, six
//      rows at a time: s = q·kᵀ, online softmax, o += p·v. Tiles that no row may see are skipped.
// Everything a block touches again (its q and o, one tile of keys) fits a second-level cache of 1 MiB up to d = 464.

#include <cmath>

#include "quern/base/threads.h"
#include "quern/kernels/attention/attention_fast.h"

namespace quern::kernels {
namespace {

constexpr int64_t kQueryBlock = 96;  // 16 tiles of six rows between two readings of a key tile from L2 or beyond

template <class KV>
struct Job {  // one key/value head of one segment
  const AttentionSegment<KV>* segment;
  int64_t head, k_len;
  uint32_t *k, *v;  // packed
  int64_t first_item, first_block;
};

template <class KV>
class Prefill {
 public:
  Prefill(View<const float, 3> q, AttentionOptions opt, View<float, 3> o, View<float, 2> lse, Arena& scratch)
      : q_(q),
        opt_(opt),
        o_(o),
        lse_(lse),
        d_(q.shape[2]),
        dv_(o.shape[2]),
        width_(round_up(dv_, 16)),
        line_(round_up(std::max(d_, width_), 16)),
        scratch_(scratch) {
    op_.bf16_math = attention_bf16(opt);
    q_row_ = op_.row(d_);
    // pack: 64 row-major keys and two lines; work: q, o, m, l of a block, s and p of six rows.
    int64_t pack = kPanelKeys * op_.row(d_) + 2 * line_;
    int64_t work = kQueryBlock * (q_row_ + width_ + 2) + kTileRows * kKeyTile * 2 + line_;
    slice_ = round_up(std::max(pack, work), 16);
    slices_ = scratch.take<uint32_t>(slice_ * thread_count()).data();
  }

  int64_t packed(int64_t k_len) const {  // elements
    int64_t keys = round_up(k_len, kPanelKeys);
    return keys * op_.steps(d_) + op_.steps(keys) * width_;
  }

  void batch(std::span<Job<KV>> jobs) {
    int64_t blocks = 0, items = 0;
    for (Job<KV>& j : jobs) {
      j.first_block = blocks, j.first_item = items;
      blocks += round_up(j.k_len, kPanelKeys) / kPanelKeys;
      items += q_blocks(j) * group(j);
      j.k = scratch_.take<uint32_t>(packed(j.k_len)).data();
      j.v = j.k + round_up(j.k_len, kPanelKeys) * op_.steps(d_);
    }
    auto find = [&](int64_t i, auto first) {
      return std::prev(
          std::upper_bound(jobs.begin(), jobs.end(), i, [&](int64_t x, const Job<KV>& j) { return x < j.*first; }));
    };
    parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) {
        auto j = find(b, &Job<KV>::first_block);
        pack(*j, (b - j->first_block) * kPanelKeys);
      }
    });
    parallel_dynamic(items, [&](int64_t i) {
      auto j = find(i, &Job<KV>::first_item);
      int64_t at = i - j->first_item, h = at % group(*j), block = q_blocks(*j) - 1 - at / group(*j);
      attend(*j, j->head * group(*j) + h, block * kQueryBlock);
    });
  }

 private:
  int64_t group(const Job<KV>& j) const { return q_.shape[1] / j.segment->k.shape[1]; }
  static int64_t q_blocks(const Job<KV>& j) { return round_up(j.segment->q_len, kQueryBlock) / kQueryBlock; }
  uint32_t* slice() const { return slices_ + slice_ * thread_index(); }

  void pack(const Job<KV>& j, int64_t key) const {
    int64_t n = std::min(kPanelKeys, j.k_len - key), steps = op_.steps(d_), row = op_.row(d_);
    uint32_t *rows = slice(), *panel = j.k + key * steps;
    float* lines = reinterpret_cast<float*>(rows + kPanelKeys * row);
    for (int64_t i = 0; i < kPanelKeys; ++i) {
      if (i < n)
        op_.row_major(cache_row(j.segment->k, j.segment->k_scale, key + i, j.head), 1, d_, lines, rows + i * row);
      else
        std::fill_n(rows + i * row, steps, 0u);
    }
    op_.tile.transpose(rows, row, kPanelKeys, steps, panel, kPanelKeys);
    auto at = [&](int64_t i) { return cache_row(j.segment->v, j.segment->v_scale, key + i, j.head); };
    op_.across_rows(at, {.rows = n, .rows_pad = kPanelKeys, .f = 1, .n = dv_, .width = width_}, lines,
                    j.v + op_.steps(key) * width_);
  }

  void attend(const Job<KV>& j, int64_t head, int64_t i0) const {
    const AttentionSegment<KV>& seg = *j.segment;
    int64_t rows = std::min(kQueryBlock, seg.q_len - i0), past = j.k_len - seg.q_len, steps = op_.steps(d_);
    uint32_t* q = slice();
    float* o = reinterpret_cast<float*>(q + kQueryBlock * q_row_);
    float *m = o + kQueryBlock * width_, *l = m + kQueryBlock, *s = l + kQueryBlock;
    auto* p = reinterpret_cast<uint16_t*>(s + kTileRows * kKeyTile);
    float* line = s + kTileRows * kKeyTile * 2;
    for (int64_t i = 0; i < rows; ++i)
      op_.row_major(&q_(seg.q_begin + i0 + i, head, 0), static_cast<float>(opt_.scale * kLog2e), d_, line,
                    q + i * q_row_);
    std::fill_n(o, rows * width_, 0.0f);
    std::fill_n(m, rows, kMasked);
    std::fill_n(l, rows, 0.0f);
    int64_t end = past + i0 + rows;  // keys the last row may see
    for (int64_t key = first_key(past + i0, opt_.window) / kPanelKeys * kPanelKeys; key < end; key += kKeyTile)
      for (int64_t r = 0; r < rows; r += kTileRows) {
        int64_t n = std::min<int64_t>(kTileRows, rows - r), last = past + i0 + r;  // newest key of the first row
        int64_t keys = std::min<int64_t>(kKeyTile, last + n - key);
        if (keys <= 0) continue;
        if (first_key(last, opt_.window) >= key + kKeyTile) continue;
        Tile t{.a = q + r * q_row_,
               .a_row = q_row_,
               .b_k = kPanelKeys,
               .c_row = kKeyTile,
               .k = steps,
               .rows = static_cast<int>(n)};
        for (int64_t c = 0; c < keys; c += kPanelKeys) {
          t.b = j.k + (key + c) * steps, t.c = s + c;
          t.groups = static_cast<int>((std::min(kPanelKeys, keys - c) + 15) / 16);
          op_.run(t);
        }
        op_.simd.softmax({.s = s,
                          .s_row = kKeyTile,
                          .p = op_.bf16_math ? p : nullptr,
                          .p_row = kKeyTile,
                          .o = o + r * width_,
                          .o_row = width_,
                          .m = m + r,
                          .l = l + r,
                          .rows = static_cast<int>(n),
                          .columns = static_cast<int>(keys),
                          .width = static_cast<int>(width_),
                          .first = opt_.window > 0 ? last - opt_.window + 1 - key : -kKeyTile,
                          .end = last + 1 - key});
        op_.columns({.a = op_.bf16_math ? static_cast<const void*>(p) : s,
                     .a_row = op_.steps(kKeyTile),
                     .b = j.v + op_.steps(key) * width_,
                     .b_k = width_,
                     .c = o + r * width_,
                     .c_row = width_,
                     .k = op_.steps(keys),
                     .rows = static_cast<int>(n),
                     .add = true},
                    width_);
      }
    for (int64_t i = 0; i < rows; ++i) {
      int64_t t = seg.q_begin + i0 + i;
      op_.simd.scale(o + i * width_, 1 / l[i], dv_, dv_, &o_(t, head, 0));
      if (lse_) lse_(t, head) = partial_lse(m[i], l[i]);
    }
  }

  View<const float, 3> q_;
  AttentionOptions opt_;
  View<float, 3> o_;
  View<float, 2> lse_;
  Operands op_;
  int64_t d_, dv_, width_, line_, q_row_ = 0, slice_ = 0;
  Arena& scratch_;
  uint32_t* slices_ = nullptr;
};

}  // namespace

template <class KV>
void attention_prefill(View<const float, 3> q, std::span<const AttentionSegment<KV>> segments,
                       AttentionOptions options, View<float, 3> o, View<float, 2> lse, Arena& scratch) {
  int64_t heads = 0;
  for (const auto& s : segments) heads += s.k.shape[1];
  Arena::Scope scope(scratch);
  Prefill<KV> run(q, options, o, lse, scratch);
  std::span<Job<KV>> jobs = scratch.take<Job<KV>>(heads);
  size_t n = 0;
  int64_t bytes = 0;
  auto flush = [&] {
    Arena::Scope batch(scratch);
    run.batch(jobs.first(n));
    n = 0, bytes = 0;
  };
  for (const auto& s : segments)
    for (int64_t h = 0; s.q_len > 0 && h < s.k.shape[1]; ++h) {
      int64_t more = run.packed(s.k.shape[0]) * 4;
      if (n > 0 && bytes + more > kBatchBytes) flush();
      jobs[n++] = {&s, h, s.k.shape[0], nullptr, nullptr, 0, 0};
      bytes += more;
    }
  flush();
}

template void attention_prefill<float>(View<const float, 3>, std::span<const AttentionSegment<float>>,
                                       AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_prefill<int8_t>(View<const float, 3>, std::span<const AttentionSegment<int8_t>>,
                                        AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_prefill<bf16>(View<const float, 3>, std::span<const AttentionSegment<bf16>>, AttentionOptions,
                                      View<float, 3>, View<float, 2>, Arena&);

}  // namespace quern::kernels
