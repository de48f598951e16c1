// Decode attention: few queries per key/value head, so the KV cache is read once and bandwidth is the bottleneck. The
// keys of a head are cut into chunks of kDecodeKeys (the result does not depend on the number of threads); a task
// computes (o, m, l) of its query rows for one chunk of one head; the chunks of a row are then combined by their
// maxima. If the rows of a head are contiguous, a task is one forward pass over keys and one over values, and the next
// task continues where it stopped.

#include <cmath>

#include "quern/base/threads.h"
#include "quern/kernels/attention/attention_fast.h"

namespace quern::kernels {
namespace {

template <class KV>
struct Task {
  const AttentionSegment<KV>* segment;
  int64_t head, begin, end;
  const float* q;  // [rows][d padded], scaled
  float* part;     // [rows][width + 2]: o, m, l
};

template <class KV>
class Decode {
 public:
  Decode(View<const float, 3> q, AttentionOptions opt, View<float, 3> o, View<float, 2> lse)
      : q_(q), opt_(opt), o_(o), lse_(lse), d_(round_up(q.shape[2], 16)), width_(round_up(o.shape[2], 16)) {}

  int64_t rows(const AttentionSegment<KV>& s) const { return s.q_len * (q_.shape[1] / s.k.shape[1]); }  // of a head
  int64_t q_floats(const AttentionSegment<KV>& s) const { return rows(s) * d_; }
  int64_t part_floats(const AttentionSegment<KV>& s) const { return rows(s) * (width_ + 2); }
  int64_t slice_floats(int64_t max_rows) const { return kDecodeKeys * (d_ + width_ + 2 + max_rows); }

  void scale_queries(const AttentionSegment<KV>& s, float* to) const {  // row = (key head, query, head in group)
    int64_t kv_heads = s.k.shape[1], group = q_.shape[1] / kv_heads;
    for (int64_t g = 0; g < kv_heads; ++g)
      for (int64_t i = 0; i < s.q_len; ++i)
        for (int64_t h = 0; h < group; ++h, to += d_)
          op_.simd.scale(&q_(s.q_begin + i, g * group + h, 0), static_cast<float>(opt_.scale * kLog2e), q_.shape[2],
                         d_, to);
  }

  void run(const Task<KV>& t, float* scratch) const {
    const AttentionSegment<KV>& s = *t.segment;
    int64_t n = rows(s), group = n / s.q_len, keys = t.end - t.begin;
    float *o = t.part, *m = o + n * width_, *l = m + n;
    std::fill_n(o, n * width_, 0.0f);
    std::fill_n(m, n, kMasked);
    std::fill_n(l, n, 0.0f);
    float *kt = scratch, *vt = kt + kDecodeKeys * d_, *scales = vt + kDecodeKeys * width_,
          *scores = scales + 2 * kDecodeKeys;
    Rows k = in_place(s.k, s.k_scale, t, d_, kt, scales),
         v = in_place(s.v, s.v_scale, t, width_, vt, scales + kDecodeKeys);
    DecodeTile tile{.q = t.q,
                    .q_row = d_,
                    .rows = static_cast<int>(n),
                    .k = k.data,
                    .v = v.data,
                    .k_rows = k.kind,
                    .v_rows = v.kind,
                    .k_scale = k.scale,
                    .v_scale = v.scale,
                    .bf16_math = attention_bf16(opt_),
                    .k_row = k.row,
                    .v_row = v.row,
                    .keys = keys,
                    .d = d_,
                    .dv = width_,
                    .s = scores,
                    .s_row = kDecodeKeys,
                    .o = o,
                    .o_row = width_};
    op_.simd.scores(tile);
    for (int64_t i = 0; i < s.q_len; ++i) {
      int64_t last = s.k.shape[0] - s.q_len + i, at = i * group;
      op_.simd.softmax({.s = scores + at * kDecodeKeys,
                        .s_row = kDecodeKeys,
                        .o = o + at * width_,
                        .o_row = width_,
                        .m = m + at,
                        .l = l + at,
                        .rows = static_cast<int>(group),
                        .columns = static_cast<int>(keys),
                        .width = static_cast<int>(width_),
                        .first = first_key(last, opt_.window) - t.begin,
                        .end = std::min(last + 1, t.end) - t.begin,
                        .step = 0});
    }
    op_.simd.values(tile);
  }

  // chunks parts of a head of segment s, part_floats apart. sum: width() floats of scratch.
  void merge(const AttentionSegment<KV>& s, int64_t head, const float* parts, int64_t chunks, float* sum) const {
    int64_t all = rows(s), group = all / s.q_len, stride = part_floats(s);
    for (int64_t r = 0; r < all; ++r) {
      auto at = [&](int64_t c) -> PartialRow<float> {
        const float *part = parts + c * stride, *m = part + all * width_ + r;
        return {part + r * width_, m[0], m[all]};
      };
      const PartialRow<float> row = join_rows(chunks, at, width_, sum);
      int64_t t = s.q_begin + r / group, h = head * group + r % group;
      op_.simd.scale(sum, 1 / row.l, o_.shape[2], o_.shape[2], &o_(t, h, 0));
      if (lse_) lse_(t, h) = partial_lse(row.m, row.l);
    }
  }

  int64_t width() const { return width_; }

 private:
  struct Rows {
    const void* data;
    int64_t row;
    CacheRows kind;
    const float* scale;
  };
  static constexpr CacheRows kKind = std::is_same_v<KV, bf16>     ? CacheRows::bf16
                                     : std::is_same_v<KV, int8_t> ? CacheRows::q8
                                                                  : CacheRows::f32;
  // The task's rows in whole registers: where they lie if they are that, else a padded copy in f32. scale: room for
  // the scales of q8.
  Rows in_place(View<const KV, 3> x, View<const float, 2> scales, const Task<KV>& t, int64_t width, float* copy,
                float* scale) const {
    const int64_t keys = t.end - t.begin;
    const bool whole = x.shape[2] == width && (kKind != CacheRows::q8 || width <= kMaxDecodeWidth);
    if (whole && kKind == CacheRows::q8) {
      const float* from = &scales(t.begin, t.head);
      if (scales.stride[0] == 1)
        std::copy_n(from, keys, scale);
      else
        for (int64_t i = 0; i < keys; ++i) scale[i] = from[i * scales.stride[0]];
      std::fill(scale + keys, scale + kDecodeKeys, 0.0f);
    }
    if (whole) return {&x(t.begin, t.head, 0), x.stride[0], kKind, scale};
    for (int64_t i = 0; i < keys; ++i)
      op_.widen(cache_row(x, scales, t.begin + i, t.head), x.shape[2], width, copy + i * width);
    return {copy, width, CacheRows::f32, nullptr};
  }

  View<const float, 3> q_;
  AttentionOptions opt_;
  View<float, 3> o_;
  View<float, 2> lse_;
  Operands op_;
  int64_t d_, width_;
};

}  // namespace

template <class KV>
void attention_decode(View<const float, 3> q, std::span<const AttentionSegment<KV>> segments,
                      AttentionOptions options, View<float, 3> o, View<float, 2> lse, Arena& scratch) {
  Arena::Scope scope(scratch);
  Decode<KV> run(q, options, o, lse);
  auto begin_of = [&](const AttentionSegment<KV>& s) {  // the first key any query sees
    return first_key(s.k.shape[0] - s.q_len, options.window);
  };
  auto chunks_of = [&](const AttentionSegment<KV>& s) {
    return (s.k.shape[0] - begin_of(s) + kDecodeKeys - 1) / kDecodeKeys;
  };
  int64_t n = 0, max_rows = 0;
  for (const auto& s : segments)
    if (s.q_len > 0) {
      n += chunks_of(s) * s.k.shape[1];
      max_rows = std::max(max_rows, run.rows(s));
    }
  std::span<Task<KV>> tasks = scratch.take<Task<KV>>(n);
  size_t at = 0;
  for (const auto& s : segments) {
    if (s.q_len == 0) continue;
    int64_t first = begin_of(s), chunks = chunks_of(s), heads = s.k.shape[1];
    float* sq = scratch.take<float>(heads * run.q_floats(s)).data();
    run.scale_queries(s, sq);
    float* parts = scratch.take<float>(heads * chunks * run.part_floats(s)).data();
    for (int64_t g = 0; g < heads; ++g)
      for (int64_t c = 0; c < chunks; ++c)
        tasks[at++] = {&s,
                       g,
                       first + c * kDecodeKeys,
                       std::min(first + (c + 1) * kDecodeKeys, s.k.shape[0]),
                       sq + g * run.q_floats(s),
                       parts + (g * chunks + c) * run.part_floats(s)};
  }
  int64_t slice = round_up(run.slice_floats(max_rows), 16);
  float* slices = scratch.take<float>(slice * thread_count()).data();
  parallel_shares(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run.run(tasks[static_cast<size_t>(i)], slices + slice * thread_index());
  });
  std::span<float> sum = scratch.take<float>(run.width());
  for (size_t i = 0; i < tasks.size();) {
    const Task<KV>& t = tasks[i];
    int64_t chunks = chunks_of(*t.segment);
    run.merge(*t.segment, t.head, t.part, chunks, sum.data());
    i += static_cast<size_t>(chunks);
  }
}

template void attention_decode<float>(View<const float, 3>, std::span<const AttentionSegment<float>>,
                                      AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_decode<int8_t>(View<const float, 3>, std::span<const AttentionSegment<int8_t>>,
                                       AttentionOptions, View<float, 3>, View<float, 2>, Arena&);
template void attention_decode<bf16>(View<const float, 3>, std::span<const AttentionSegment<bf16>>, AttentionOptions,
                                     View<float, 3>, View<float, 2>, Arena&);

}  // namespace quern::kernels
