// Prefill by matrix tiles (kernels/cpu/amx.h), 32 queries × 128 keys at a time: s = q·kᵀ in blocks of 2 × 2 tiles, the
// online softmax row by row within the tiles of s, whose outcome is written as tiles of p, and o += p·v.
//   K, for every 32 keys: [step of 32 of d][2 × 16 keys][1024 bytes]   pairs along d
//   V, for every 32 keys: [16 columns][1024 bytes]                     pairs of keys
//   q [step][2 strips][1024], p [32 keys][2 strips][1024], s [strip][16 keys][1024], o [strip][16 columns][1024]
// d and dv are padded to 32 with zeros. Keys are taken in aligned 32s, so where a prompt was cut does not show.
#include "quern/kernels/attention/prefill_jobs.h"
#include "quern/kernels/cpu/amx.h"

namespace quern::kernels {
namespace {

constexpr int64_t kRows = 32, kTileWords = kAmxTile / 4;

template <class KV>
class TilePrefill {
 public:
  static constexpr int64_t kPackKeys = 32;
  static constexpr int64_t kQueryBlock = 128;

  TilePrefill(View<const float, 3> q, AttentionOptions opt, View<float, 3> o, View<float, 2> lse)
      : q_(q),
        opt_(opt),
        o_(o),
        lse_(lse),
        d_(q.shape[2]),
        dv_(o.shape[2]),
        steps_(round_up(d_, 32) / 32),
        width_(round_up(dv_, 32)) {
    op_.bf16_math = true;
  }

  int64_t elements(int64_t k_len) const {
    return round_up(k_len, kPackKeys) / kPackKeys * (key_words() + value_words());
  }

  void pack(const PrefillJob<KV>& j, int64_t key) const {
    Arena& arena = thread_arena();
    Arena::Scope scope(arena);
    const int64_t n = std::min(kPackKeys, j.k_len - key), row = 16 * steps_;
    uint32_t* rows = arena.take<uint32_t>(kPackKeys * row).data();
    float* lines = arena.take<float>(2 * std::max(width_, 32 * steps_)).data();
    std::fill_n(rows, kPackKeys * row, 0u);
    for (int64_t i = 0; i < n; ++i)
      op_.row_major(cache_row(j.segment->k, j.segment->k_scale, key + i, j.head), 1, d_, lines, rows + i * row);
    for (int64_t s = 0; s < steps_; ++s)
      for (int64_t half = 0; half < 2; ++half)
        op_.tile.transpose(rows + 16 * half * row + 16 * s, row, 16, 16, keys(j, key) + (2 * s + half) * kTileWords,
                           16);
    uint32_t* pairs = arena.take<uint32_t>(16 * width_).data();
    const auto at = [&](int64_t i) { return cache_row(j.segment->v, j.segment->v_scale, key + i, j.head); };
    op_.across_rows(at, {.rows = n, .rows_pad = kPackKeys, .f = 1, .n = dv_, .width = width_}, lines, pairs);
    for (int64_t c = 0; c < width_; c += 16)
      for (int64_t p = 0; p < 16; ++p)
        std::memcpy(values(j, key) + c / 16 * kTileWords + 16 * p, pairs + p * width_ + c, 64);
  }

  void attend(const PrefillJob<KV>& j, int64_t head, int64_t i0) const {
    const int64_t past = j.k_len - j.segment->q_len, rows = std::min(kQueryBlock, j.segment->q_len - i0);
    Arena& arena = thread_arena();
    Arena::Scope scope(arena);
    const Work w = prepare(j, head, i0, rows, arena);
    const AmxScope tiles(kernels_);
    const VisibleKeys visible{opt_, j.k_len};
    const int64_t end = visible.end(past + i0 + rows - 1);
    for (int64_t key = visible.first(past + i0) / kPackKeys * kPackKeys; key < end; key += kKeyTile)
      for (int64_t r = 0; r < rows; r += kRows) {
        const int64_t n = std::min(kRows, rows - r), row = past + i0 + r;  // own key of the first row
        const int64_t keys = std::min<int64_t>(kKeyTile, visible.end(row + n - 1) - key);
        if (keys <= 0 || visible.first(row) >= key + kKeyTile) continue;
        scores_and_values(j, w, r, n, key, keys, row);
      }
    finish(j, head, i0, rows, w);
  }

 private:
  struct Work {  // of a block of queries
    uint8_t *q, *s, *p;
    float *o, *m, *l;
  };

  int64_t key_words() const { return 2 * steps_ * kTileWords; }
  int64_t value_words() const { return width_ / 16 * kTileWords; }
  uint32_t* keys(const PrefillJob<KV>& j, int64_t key) const {
    return j.packed + key / kPackKeys * (key_words() + value_words());
  }
  uint32_t* values(const PrefillJob<KV>& j, int64_t key) const { return keys(j, key) + key_words(); }

  Work prepare(const PrefillJob<KV>& j, int64_t head, int64_t i0, int64_t rows, Arena& arena) const {
    const int64_t padded = round_up(rows, kRows), q_bytes = padded * steps_ * kAmxStepBytes;
    const Work w{.q = arena.take<uint8_t>(q_bytes).data(),
                 .s = arena.take<uint8_t>(kRows * kKeyTile * 4).data(),
                 .p = arena.take<uint8_t>(kRows * kKeyTile * 2).data(),
                 .o = arena.take<float>(padded * width_).data(),
                 .m = arena.take<float>(padded).data(),
                 .l = arena.take<float>(padded).data()};
    std::memset(w.q, 0, static_cast<size_t>(q_bytes));
    uint32_t* row = arena.take<uint32_t>(16 * steps_).data();
    float* line = arena.take<float>(32 * steps_).data();
    std::fill_n(row, 16 * steps_, 0u);
    for (int64_t i = 0; i < rows; ++i) {
      op_.row_major(&q_(j.segment->q_begin + i0 + i, head, 0), static_cast<float>(opt_.scale * kLog2e), d_, line,
                    row);
      for (int64_t s = 0; s < steps_; ++s) {
        const int64_t tile = (i / kRows * steps_ + s) * 2 + i % kRows / 16;
        std::memcpy(w.q + tile * kAmxTile + i % 16 * kAmxStepBytes, row + 16 * s, kAmxStepBytes);
      }
    }
    std::fill_n(w.o, padded * width_, 0.0f);
    std::fill_n(w.m, padded, kMasked);
    std::fill_n(w.l, padded, 0.0f);
    return w;
  }

  // Rows [r, r + n) of the block against keys [key, key + keys).
  void scores_and_values(const PrefillJob<KV>& j, const Work& w, int64_t r, int64_t n, int64_t key,
                         int64_t keys_there, int64_t row) const {
    const int64_t columns = round_up(keys_there, kPackKeys), s_strip = kKeyTile / 16 * kAmxTile,
                  o_strip = width_ / 16 * kAmxTile;
    for (int64_t c = 0; c < columns; c += kPackKeys)
      kernels_.bf16.two_by_two({.a = w.q + r * steps_ * kAmxStepBytes,
                                .a_strip = kAmxTile,
                                .a_step = 2 * kAmxTile,
                                .b = reinterpret_cast<const uint8_t*>(keys(j, key + c)),
                                .b_tile = kAmxTile,
                                .b_step = 2 * kAmxTile,
                                .b_row = kAmxStepBytes,
                                .c = w.s + c / 16 * kAmxTile,
                                .c_strip = s_strip,
                                .steps = steps_});
    float* o = w.o + r * width_;
    for (int64_t strip = 0; 16 * strip < n; ++strip) {
      SoftmaxTile tile{.s = reinterpret_cast<float*>(w.s + strip * s_strip),
                       .s_row = 16,
                       .s_group = kTileWords,
                       .p = reinterpret_cast<uint16_t*>(w.p + strip * kAmxTile),
                       .p_row = 32,
                       .p_group = kAmxTile,  // 2 · 1024 bytes
                       .o = o + 16 * strip * width_,
                       .o_row = 16,
                       .o_group = kTileWords,
                       .m = w.m + r + 16 * strip,
                       .l = w.l + r + 16 * strip,
                       .rows = static_cast<int>(std::min<int64_t>(16, n - 16 * strip)),
                       .columns = static_cast<int>(columns),
                       .width = static_cast<int>(width_)};
      VisibleKeys{opt_, j.k_len}.mask(tile, row + 16 * strip, key);
      op_.simd.softmax(tile);
    }
    for (int64_t c = 0; c < width_; c += 32)
      (n > 16 ? kernels_.bf16.two_by_two
              : kernels_.bf16.one_by_two)({.a = w.p,
                                           .a_strip = kAmxTile,
                                           .a_step = 2 * kAmxTile,
                                           .b = reinterpret_cast<const uint8_t*>(values(j, key)) + c / 16 * kAmxTile,
                                           .b_tile = kAmxTile,
                                           .b_step = 4 * (key_words() + value_words()),
                                           .b_row = kAmxStepBytes,
                                           .c = reinterpret_cast<uint8_t*>(o) + c / 16 * kAmxTile,
                                           .c_strip = o_strip,
                                           .steps = columns / kPackKeys,
                                           .add = true});
  }

  void finish(const PrefillJob<KV>& j, int64_t head, int64_t i0, int64_t rows, const Work& w) const {
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t t = j.segment->q_begin + i0 + i;
      const float* o = w.o + i / 16 * 16 * width_ + i % 16 * 16;
      for (int64_t c = 0; c < dv_; c += 16) {
        const int64_t n = std::min<int64_t>(16, dv_ - c);
        op_.simd.scale(o + c / 16 * kTileWords, 1 / w.l[i], n, n, &o_(t, head, c));
      }
      if (lse_) lse_(t, head) = partial_lse(w.m[i], w.l[i]);
    }
  }

  const AmxKernels& kernels_ = amx_kernels();
  View<const float, 3> q_;
  AttentionOptions opt_;
  View<float, 3> o_;
  View<float, 2> lse_;
  Operands op_;
  int64_t d_, dv_, steps_, width_;
};

}  // namespace

template <class KV>
void attention_prefill_tiles(View<const float, 3> q, std::span<const AttentionSegment<KV>> segments,
                             AttentionOptions options, View<float, 3> o, View<float, 2> lse, Arena& scratch) {
  const TilePrefill<KV> kernel(q, options, o, lse);
  PrefillJobs<KV, TilePrefill<KV>>(kernel, q.shape[1], scratch).run(segments);
}

template void attention_prefill_tiles<float>(View<const float, 3>, std::span<const AttentionSegment<float>>,
                                             AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_prefill_tiles<int8_t>(View<const float, 3>, std::span<const AttentionSegment<int8_t>>,
                                              AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_prefill_tiles<bf16>(View<const float, 3>, std::span<const AttentionSegment<bf16>>,
                                            AttentionOptions, View<float, 3>, View<float, 2>, Arena&);

}  // namespace quern::kernels
