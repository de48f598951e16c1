// Prefill: tiled attention with an online softmax.
//   1. per (segment, key/value head), once for all query heads of its group: K transposed into panels of 64 keys
//      [d][64] and V padded to [keys][dv'], both as the tile kernels read them;
//   2. per (job, query head, block of queries), later blocks first because they are longer: for every 128 keys, six
//      rows at a time: s = q·kᵀ, online softmax, o += p·v. Tiles that no row may see are skipped.
// Everything a block touches again (its q and o, one tile of keys) fits a second-level cache of 1 MiB up to d = 464.

#include <cmath>

#include "quern/kernels/attention/prefill_jobs.h"
#include "quern/kernels/cpu/products.h"

namespace quern::kernels {
namespace {

template <class KV>
class Prefill {
 public:
  static constexpr int64_t kPackKeys = kPanelKeys;
  static constexpr int64_t kQueryBlock =
      96;  // 16 tiles of six rows between two readings of a key tile from L2 or beyond

  Prefill(View<const float, 3> q, AttentionOptions opt, View<float, 3> o, View<float, 2> lse, Arena& scratch)
      : q_(q),
        opt_(opt),
        o_(o),
        lse_(lse),
        d_(q.shape[2]),
        dv_(o.shape[2]),
        width_(round_up(dv_, 16)),
        line_(round_up(std::max(d_, width_), 16)) {
    op_.bf16_math = attention_bf16(opt);
    q_row_ = op_.row(d_);
    // pack: 64 row-major keys and two lines; work: q, o, m, l of a block, s and p of six rows.
    int64_t pack = kPanelKeys * op_.row(d_) + 2 * line_;
    int64_t work = kQueryBlock * (q_row_ + width_ + 2) + kTileRows * kKeyTile * 2 + line_;
    slice_ = round_up(std::max(pack, work), 16);
    slices_ = scratch.take<uint32_t>(slice_ * thread_count()).data();
  }

  int64_t elements(int64_t k_len) const {
    int64_t keys = round_up(k_len, kPanelKeys);
    return keys * op_.steps(d_) + op_.steps(keys) * width_;
  }

  void pack(const PrefillJob<KV>& j, int64_t key) const {
    int64_t n = std::min(kPanelKeys, j.k_len - key), steps = op_.steps(d_), row = op_.row(d_);
    uint32_t *rows = slice(), *panel = j.packed + key * steps;
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
                    values(j) + op_.steps(key) * width_);
  }

  void attend(const PrefillJob<KV>& j, int64_t head, int64_t i0) const {
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
    const VisibleKeys visible{opt_, j.k_len};
    const int64_t end = visible.end(past + i0 + rows - 1);
    for (int64_t key = visible.first(past + i0) / kPanelKeys * kPanelKeys; key < end; key += kKeyTile)
      for (int64_t r = 0; r < rows; r += kTileRows) {
        int64_t n = std::min<int64_t>(kTileRows, rows - r), row = past + i0 + r;  // own key of the first row
        int64_t keys = std::min<int64_t>(kKeyTile, visible.end(row + n - 1) - key);
        if (keys <= 0) continue;
        if (visible.first(row) >= key + kKeyTile) continue;
        Tile t{.a = q + r * q_row_,
               .a_row = q_row_,
               .b_k = kPanelKeys,
               .c_row = kKeyTile,
               .k = steps,
               .rows = static_cast<int>(n)};
        for (int64_t c = 0; c < keys; c += kPanelKeys) {
          t.b = j.packed + (key + c) * steps, t.c = s + c;
          t.groups = static_cast<int>((std::min(kPanelKeys, keys - c) + 15) / 16);
          op_.run(t);
        }
        if (opt_.bias)
          for (int64_t i = 0; i < n; ++i)
            opt_.bias->add({seg.q_begin, head, row + i, key, keys, static_cast<float>(kLog2e)}, s + i * kKeyTile);
        SoftmaxTile tile{.s = s,
                         .s_row = kKeyTile,
                         .p = op_.bf16_math ? p : nullptr,
                         .p_row = kKeyTile,
                         .o = o + r * width_,
                         .o_row = width_,
                         .m = m + r,
                         .l = l + r,
                         .rows = static_cast<int>(n),
                         .columns = static_cast<int>(keys),
                         .width = static_cast<int>(width_)};
        visible.mask(tile, row, key);
        op_.simd.softmax(tile);
        op_.columns({.a = op_.bf16_math ? static_cast<const void*>(p) : s,
                     .a_row = op_.steps(kKeyTile),
                     .b = values(j) + op_.steps(key) * width_,
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

 private:
  uint32_t* slice() const { return slices_ + slice_ * thread_index(); }
  uint32_t* values(const PrefillJob<KV>& j) const { return j.packed + round_up(j.k_len, kPanelKeys) * op_.steps(d_); }

  View<const float, 3> q_;
  AttentionOptions opt_;
  View<float, 3> o_;
  View<float, 2> lse_;
  Operands op_;
  int64_t d_, dv_, width_, line_, q_row_ = 0, slice_ = 0;
  uint32_t* slices_ = nullptr;
};

}  // namespace

template <class KV>
void attention_prefill(View<const float, 3> q, std::span<const AttentionSegment<KV>> segments,
                       AttentionOptions options, View<float, 3> o, View<float, 2> lse, Arena& scratch) {
  Arena::Scope scope(scratch);
  if (options.bf16_math && !options.bias && matrix_tiles())
    return attention_prefill_tiles<KV>(q, segments, options, o, lse, scratch);
  const Prefill<KV> kernel(q, options, o, lse, scratch);
  PrefillJobs<KV, Prefill<KV>>(kernel, q.shape[1], scratch).run(segments);
}

template void attention_prefill<float>(View<const float, 3>, std::span<const AttentionSegment<float>>,
                                       AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_prefill<int8_t>(View<const float, 3>, std::span<const AttentionSegment<int8_t>>,
                                        AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_prefill<bf16>(View<const float, 3>, std::span<const AttentionSegment<bf16>>, AttentionOptions,
                                      View<float, 3>, View<float, 2>, Arena&);

}  // namespace quern::kernels
