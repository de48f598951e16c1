// Backward, tiled: a task is one (segment, query head). For every 64 keys (outer) and 96 queries (inner):
//   s = q·kᵀ, dp = go·vᵀ, p = 2^(s − lse₂), g = p ∘ (dp − δ);  gq += g·k, gv += pᵀ·go, gk += gᵀ·q
// five matrix products of equal size. q includes scale·log2 e: gk = ln 2 · gᵀq, gq = scale · g·k.

#include <utility>

#include "quern/kernels/attention/backward_tasks.h"
#include "quern/kernels/cpu/products.h"

namespace quern::kernels {
namespace {

constexpr int64_t kQueries = 96;  // the summed length of gv and gk: their tiles are loaded and stored once for it

class Backward : public BackwardSums {
 public:
  Backward(const AttentionBackwardArgs<float>& a, int64_t longest, Arena& scratch) : BackwardSums(a, 16) {
    op_.bf16_math = attention_bf16(a.options);
    slice_ = lay_out_scratch(nullptr, longest).size;
    slices_ = scratch.take<uint32_t>(slice_ * thread_count()).data();
  }

  void operator()(const BackwardTask& t) const {
    Scratch w = lay_out_scratch(slices_ + slice_ * thread_index(), t.n);
    load_rows(t, w);
    for (int64_t key = 0; key < t.n; key += kPanelKeys) {
      int64_t keys = std::min(kPanelKeys, t.n - key);
      load_keys(t, w, key, keys);
      float* gkv = t.gkv + key * gkv_row();
      std::fill_n(w.gk, kPanelKeys * gkv_row(), 0.0f);
      int64_t end = in_.options.window > 0 ? std::min(t.n, key + keys - 1 + in_.options.window)
                                           : t.n;  // rows that see these keys
      for (int64_t i = key; i < end; i += kQueries) {
        int64_t rows = round_up(std::min(kQueries, end - i), kTileRows);
        for (int64_t r = 0; r < rows; r += kTileRows) row_tile(w, key, keys, i, r);
        key_side(w, i, rows, keys);
      }
      std::copy_n(w.gk, keys * gkv_row(), gkv);
    }
    for (int64_t i = 0; i < t.n; ++i)
      op_.simd.scale(w.gq + i * dp_, static_cast<float>(in_.options.scale), d_, d_,
                     &in_.grads.gq(t.begin + i, t.head, 0));
  }

 private:
  struct Scratch {
    uint32_t *q, *go;             // [n] rows as left operands
    uint32_t *q_sum, *go_sum;     // the same as right operands summed over rows: [n][dp], [n][dvp]
    float *gq, *lse2, *delta;     // [n][dp], [n], [n]
    uint32_t* rows;               // 64 keys row-major, on their way into the panels
    uint32_t *k, *v, *k_sum;      // panels [d][64], [dv][64], and [64][dp]
    float *s, *dp;                // [96][64]; under bf16 six rows at a time
    float* gk;                    // [64][dp + dvp]
    uint16_t* g16;                // [6][64]
    uint32_t *p_pairs, *g_pairs;  // [48][64]
    float* line;                  // two rows
    int64_t size;                 // of all of it
  };

  // Blocks of queries start at multiples of 64 and run 96 on; rows past the segment are zeros that see nothing.
  static int64_t padded(int64_t n) { return round_up(n, kPanelKeys) + kQueries; }

  // Null base: only the size counts.
  Scratch lay_out_scratch(uint32_t* base, int64_t length) const {
    int64_t n = padded(length), used = 0;
    auto take = [&](int64_t count) {
      int64_t from = std::exchange(used, used + round_up(count, 16));
      return base ? base + from : nullptr;
    };
    auto floats = [&](int64_t count) { return reinterpret_cast<float*>(take(count)); };
    Scratch w;
    w.q = take(n * op_.row(d_)), w.go = take(n * op_.row(dv_));
    w.q_sum = take(op_.steps(n) * dp_), w.go_sum = take(op_.steps(n) * dvp_);
    w.gq = floats(n * dp_), w.lse2 = floats(n), w.delta = floats(n);
    w.rows = take(kPanelKeys * op_.row(std::max(d_, dv_)));
    w.k = take(kPanelKeys * op_.steps(d_)), w.v = take(kPanelKeys * op_.steps(dv_));
    w.k_sum = take(op_.steps(kPanelKeys) * dp_);
    w.s = floats(kQueries * kPanelKeys), w.dp = floats(kQueries * kPanelKeys);
    w.gk = floats(kPanelKeys * gkv_row());
    w.g16 = reinterpret_cast<uint16_t*>(take(kTileRows * kPanelKeys / 2));
    w.p_pairs = take(kQueries / 2 * kPanelKeys), w.g_pairs = take(kQueries / 2 * kPanelKeys);
    w.line = floats(2 * std::max(dp_, dvp_));
    w.size = used;
    return w;
  }

  void load_rows(const BackwardTask& t, const Scratch& w) const {
    int64_t n = padded(t.n);
    auto f = static_cast<float>(in_.options.scale * kLog2e);
    auto q = [&](int64_t i) { return &in_.q(t.begin + i, t.head, 0); };
    auto go = [&](int64_t i) { return &in_.go(t.begin + i, t.head, 0); };
    for (int64_t i = 0; i < t.n; ++i) {
      op_.row_major(q(i), f, d_, w.line, w.q + i * op_.row(d_));
      op_.row_major(go(i), 1, dv_, w.line, w.go + i * op_.row(dv_));
      w.lse2[i] = static_cast<float>(static_cast<double>(in_.lse(t.begin + i, t.head)) * kLog2e);
      w.delta[i] = op_.simd.dot(go(i), &in_.o(t.begin + i, t.head, 0), dv_);
    }
    std::fill(w.q + t.n * op_.row(d_), w.q + n * op_.row(d_), 0u);
    std::fill(w.go + t.n * op_.row(dv_), w.go + n * op_.row(dv_), 0u);
    std::fill(w.lse2 + t.n, w.lse2 + n, -kMasked);  // 2^(s − 1e30) = 0
    std::fill(w.delta + t.n, w.delta + n, 0.0f);
    op_.across_rows(q, {.rows = t.n, .rows_pad = n, .f = f, .n = d_, .width = dp_}, w.line, w.q_sum);
    op_.across_rows(go, {.rows = t.n, .rows_pad = n, .f = 1, .n = dv_, .width = dvp_}, w.line, w.go_sum);
    std::fill_n(w.gq, n * dp_, 0.0f);
  }

  void load_keys(const BackwardTask& t, const Scratch& w, int64_t key, int64_t keys) const {
    auto panel = [&](View<const float, 3> x, int64_t d, uint32_t* to) {
      int64_t row = op_.row(d), steps = op_.steps(d);
      for (int64_t j = 0; j < kPanelKeys; ++j) {
        if (j < keys)
          op_.row_major(&x(t.begin + key + j, t.kv_head, 0), 1, d, w.line, w.rows + j * row);
        else
          std::fill_n(w.rows + j * row, steps, 0u);
      }
      op_.tile.transpose(w.rows, row, kPanelKeys, steps, to, kPanelKeys);
    };
    panel(in_.k, d_, w.k);
    panel(in_.v, dv_, w.v);
    auto k = [&](int64_t j) { return &in_.k(t.begin + key + j, t.kv_head, 0); };
    op_.across_rows(k, {.rows = keys, .rows_pad = kPanelKeys, .f = 1, .n = d_, .width = dp_}, w.line, w.k_sum);
  }

  // Rows i + r … + 5 against the keys: p and g of the tile, and its share of gq.
  void row_tile(const Scratch& w, int64_t key, int64_t keys, int64_t i, int64_t r) const {
    int64_t row = i + r;
    bool pairs = op_.bf16_math;
    float *s = pairs ? w.s : w.s + r * kPanelKeys, *dp = pairs ? w.dp : w.dp + r * kPanelKeys;
    Tile t{.a = w.q + row * op_.row(d_),
           .a_row = op_.row(d_),
           .b = w.k,
           .b_k = kPanelKeys,
           .c = s,
           .c_row = kPanelKeys,
           .k = op_.steps(d_),
           .rows = kTileRows,
           .groups = kPanelKeys / 16};
    op_.run(t);
    t.a = w.go + row * op_.row(dv_), t.a_row = op_.row(dv_), t.b = w.v, t.c = dp, t.k = op_.steps(dv_);
    op_.run(t);
    // Row `row` sees keys (row − window, row]; the keys past the segment are seen only by rows past it, whose p is 0.
    op_.simd.gradient({.s = s,
                       .dp = dp,
                       .lse2 = w.lse2 + row,
                       .delta = w.delta + row,
                       .g16 = pairs ? w.g16 : nullptr,
                       .p_pairs = w.p_pairs + r / 2 * kPanelKeys,
                       .g_pairs = w.g_pairs + r / 2 * kPanelKeys,
                       .rows = kTileRows,
                       .first = in_.options.window > 0 ? row - in_.options.window + 1 - key : -kKeyTile,
                       .end = row + 1 - key});
    op_.columns({.a = pairs ? static_cast<const void*>(w.g16) : dp,
                 .a_row = op_.steps(kPanelKeys),
                 .b = w.k_sum,
                 .b_k = dp_,
                 .c = w.gq + row * dp_,
                 .c_row = dp_,
                 .k = op_.steps(keys),
                 .rows = kTileRows,
                 .add = true},
                dp_);
  }

  // gk, gv of the keys from `rows` queries: p and g are read down their columns.
  void key_side(const Scratch& w, int64_t i, int64_t rows, int64_t keys) const {
    const void *p = op_.bf16_math ? static_cast<const void*>(w.p_pairs) : w.s,
               *g = op_.bf16_math ? static_cast<const void*>(w.g_pairs) : w.dp;
    for (int64_t j = 0; j < keys; j += kTileRows) {
      Tile t{.a = static_cast<const char*>(g) + j * 4,
             .a_row = 1,
             .a_k = kPanelKeys,
             .b = w.q_sum + op_.steps(i) * dp_,
             .b_k = dp_,
             .c = w.gk + j * gkv_row(),
             .c_row = gkv_row(),
             .k = op_.steps(rows),
             .rows = static_cast<int>(std::min<int64_t>(kTileRows, keys - j)),
             .add = true};
      op_.columns(t, dp_);
      t.a = static_cast<const char*>(p) + j * 4, t.b = w.go_sum + op_.steps(i) * dvp_, t.b_k = dvp_, t.c += dp_;
      op_.columns(t, dvp_);
    }
  }

  Operands op_;
  int64_t slice_ = 0;
  uint32_t* slices_ = nullptr;
};

}  // namespace

void attention_backward_fast(const AttentionBackwardArgs<float>& a, Arena& scratch) {
  const int64_t longest = longest_segment(a.offsets);
  if (longest == 0) return;
  Arena::Scope scope(scratch);
  if (a.options.bf16_math && matrix_tiles()) return attention_backward_tiles(a, longest, scratch);
  run_backward(Backward(a, longest, scratch), a, scratch);
}

}  // namespace quern::kernels
