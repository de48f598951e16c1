// Backward by matrix tiles (kernels/cpu/amx.h): the five products of attention_backward.cc in bf16, 32 queries × 64 keys at
// a time, over blocks of 96 queries. Left operands are read where they lie (rows of q, go and g), or, for the sums over
// queries, as pairs of rows of g and p turned over; right operands lie in panels of 64 keys, or row by row in pairs.
// Sums of gq, gk and gv are tiles until they are done. Head sizes are padded to 32 with zeros.
#include <utility>

#include "quern/kernels/attention/backward_tasks.h"
#include "quern/kernels/cpu/amx.h"

namespace quern::kernels {
namespace {

constexpr int64_t kQueries = 96, kUnit = 32;  // queries of a block, and of a product
constexpr int64_t kTileWords = kAmxTile / 4, kSpareWords = 16;

class TileBackward : public BackwardSums {
 public:
  TileBackward(const AttentionBackwardArgs<float>& a, int64_t longest, Arena& scratch) : BackwardSums(a, 32) {
    op_.bf16_math = true;
    slice_ = lay_out(nullptr, longest).size;
    slices_ = scratch.take<uint32_t>(slice_ * thread_count()).data();
  }

  void operator()(const BackwardTask& t) const {
    const Scratch w = lay_out(slices_ + slice_ * thread_index(), t.n);
    const int64_t window = in_.options.window;
    load_rows(t, w);
    const AmxScope tiles(amx_);
    for (int64_t key = 0; key < t.n; key += kPanelKeys) {
      const int64_t keys = std::min(kPanelKeys, t.n - key);
      load_keys(t, w, key, keys);
      std::fill_n(w.gkv, kPanelKeys * gkv_row(), 0.0f);
      const int64_t end = window > 0 ? std::min(t.n, key + keys - 1 + window) : t.n;  // rows that see these keys
      for (int64_t i = key; i < end; i += kQueries) {
        const int64_t rows = round_up(std::min(kQueries, end - i), kUnit);
        for (int64_t r = 0; r < rows; r += kUnit) unit(w, key, i, r);
        key_side(w, i, rows);
      }
      for (int64_t j = 0; j < keys; j += kAmxRows)
        for (int64_t c = 0; c < gkv_row(); c += kPanelKeys)
          op_.tile.from_tiles({.sums = w.gkv + j * gkv_row() + c / 16 * kTileWords,
                               .rows = std::min(kAmxRows, keys - j),
                               .columns = std::min(kPanelKeys, gkv_row() - c),
                               .y = t.gkv + (key + j) * gkv_row() + c,
                               .y_row = gkv_row()});
    }
    for (int64_t i = 0; i < t.n; ++i)
      for (int64_t c = 0; c < d_; c += 16) {
        const int64_t n = std::min<int64_t>(16, d_ - c);
        op_.simd.scale(w.gq + i / 16 * 16 * dp_ + c / 16 * kTileWords + i % 16 * 16,
                       static_cast<float>(in_.options.scale), n, n, &in_.grads.gq(t.begin + i, t.head, c));
      }
  }

 private:
  struct Scratch {
    uint32_t *q, *go;               // [n] rows as left operands
    uint32_t *q_sum, *go_sum;       // the same as right operands summed over rows: [n / 2][dp], [n / 2][dvp]
    float *gq, *lse2, *delta;       // tiles [n / 16][dp / 16], [n], [n]
    uint32_t* rows;                 // 64 keys row by row, on their way into the panels
    uint32_t *k, *v, *k_sum;        // panels [dp / 2][64], [dvp / 2][64], and [32][dp]
    float *s, *dp;                  // tiles [2][4]
    float* gkv;                     // tiles [4][(dp + dvp) / 16]
    uint32_t* g16;                  // [32][64] of bf16
    uint32_t *p_pairs, *g_pairs;    // [48][64]
    uint32_t *p_turned, *g_turned;  // tiles [3][4]
    float* line;                    // two rows
    int64_t size;                   // of all of it
  };

  static int64_t padded(int64_t n) { return round_up(n, kPanelKeys) + kQueries; }
  static int64_t row(int64_t width) { return width / 2 + kSpareWords; }  // words of a left operand's row

  Scratch lay_out(uint32_t* base, int64_t length) const {  // null base: only the size counts
    int64_t n = padded(length), used = 0;
    auto take = [&](int64_t count) {
      const int64_t from = std::exchange(used, used + round_up(count, 16));
      return base ? base + from : nullptr;
    };
    auto floats = [&](int64_t count) { return reinterpret_cast<float*>(take(count)); };
    Scratch w;
    w.q = take(n * row(dp_)), w.go = take(n * row(dvp_));
    w.q_sum = take(n / 2 * dp_), w.go_sum = take(n / 2 * dvp_);
    w.gq = floats(n * dp_), w.lse2 = floats(n), w.delta = floats(n);
    w.rows = take(kPanelKeys * row(std::max(dp_, dvp_)));
    w.k = take(dp_ / 2 * kPanelKeys), w.v = take(dvp_ / 2 * kPanelKeys), w.k_sum = take(kPanelKeys / 2 * dp_);
    w.s = floats(kUnit * kPanelKeys), w.dp = floats(kUnit * kPanelKeys);
    w.gkv = floats(kPanelKeys * gkv_row());
    w.g16 = take(kUnit * kPanelKeys / 2);
    w.p_pairs = take(kQueries / 2 * kPanelKeys), w.g_pairs = take(kQueries / 2 * kPanelKeys);
    w.p_turned = take(kQueries / 2 * kPanelKeys), w.g_turned = take(kQueries / 2 * kPanelKeys);
    w.line = floats(2 * std::max(dp_, dvp_));
    w.size = used;
    return w;
  }

  void load_rows(const BackwardTask& t, const Scratch& w) const {
    const int64_t n = padded(t.n);
    const auto f = static_cast<float>(in_.options.scale * kLog2e);
    auto q = [&](int64_t i) { return &in_.q(t.begin + i, t.head, 0); };
    auto go = [&](int64_t i) { return &in_.go(t.begin + i, t.head, 0); };
    std::fill_n(w.q, n * row(dp_), 0u);
    std::fill_n(w.go, n * row(dvp_), 0u);
    for (int64_t i = 0; i < t.n; ++i) {
      op_.row_major(q(i), f, d_, w.line, w.q + i * row(dp_));
      op_.row_major(go(i), 1, dv_, w.line, w.go + i * row(dvp_));
      w.lse2[i] = static_cast<float>(static_cast<double>(in_.lse(t.begin + i, t.head)) * kLog2e);
      w.delta[i] = op_.simd.dot(go(i), &in_.o(t.begin + i, t.head, 0), dv_);
    }
    std::fill(w.lse2 + t.n, w.lse2 + n, -kMasked);  // 2^(s − 1e30) = 0
    std::fill(w.delta + t.n, w.delta + n, 0.0f);
    op_.across_rows(q, {.rows = t.n, .rows_pad = n, .f = f, .n = d_, .width = dp_}, w.line, w.q_sum);
    op_.across_rows(go, {.rows = t.n, .rows_pad = n, .f = 1, .n = dv_, .width = dvp_}, w.line, w.go_sum);
    std::fill_n(w.gq, n * dp_, 0.0f);
  }

  void load_keys(const BackwardTask& t, const Scratch& w, int64_t key, int64_t keys) const {
    auto panel = [&](View<const float, 3> x, int64_t d, int64_t width, uint32_t* to) {
      std::fill_n(w.rows, kPanelKeys * row(width), 0u);
      for (int64_t j = 0; j < keys; ++j)
        op_.row_major(&x(t.begin + key + j, t.kv_head, 0), 1, d, w.line, w.rows + j * row(width));
      op_.tile.transpose(w.rows, row(width), kPanelKeys, width / 2, to, kPanelKeys);
    };
    panel(in_.k, d_, dp_, w.k);
    panel(in_.v, dv_, dvp_, w.v);
    auto k = [&](int64_t j) { return &in_.k(t.begin + key + j, t.kv_head, 0); };
    op_.across_rows(k, {.rows = keys, .rows_pad = kPanelKeys, .f = 1, .n = d_, .width = dp_}, w.line, w.k_sum);
  }

  // 32 rows of x (from `first` on) times a panel of 64 keys.
  void against_keys(const uint32_t* x, int64_t width, int64_t first, const uint32_t* panel, float* to) const {
    for (int64_t half = 0; half < 2; ++half)
      amx_.bf16.two_by_two({.a = bytes(x + first * row(width)),
                            .a_strip = 4 * kAmxRows * row(width),
                            .a_step = kAmxStepBytes,
                            .a_row = 4 * row(width),
                            .b = bytes(panel) + 128 * half,
                            .b_tile = 64,
                            .b_step = 4 * kAmxTile,
                            .b_row = 256,
                            .c = bytes(to) + 2 * half * kAmxTile,
                            .c_strip = 4 * kAmxTile,
                            .steps = width / 32});
  }

  // Columns of a right operand that lies row by row in pairs, added to tiles.
  void add_columns(AmxBlock t, const uint32_t* pairs, int64_t width, uint8_t* c) const {
    t.b_tile = 64, t.b_row = 4 * width, t.b_step = 16 * t.b_row, t.add = true;
    for (int64_t column = 0; column < width; column += 32) {
      t.b = bytes(pairs + column), t.c = c + column / 16 * kAmxTile;
      amx_.bf16.two_by_two(t);
    }
  }

  // Rows i + r … + 31 against the keys: p and g, and their share of gq.
  void unit(const Scratch& w, int64_t key, int64_t i, int64_t r) const {
    const int64_t first = i + r, window = in_.options.window;
    against_keys(w.q, dp_, first, w.k, w.s);
    against_keys(w.go, dvp_, first, w.v, w.dp);
    for (int64_t strip = 0; strip < 2; ++strip) {
      const int64_t query = first + 16 * strip, pairs = (r + 16 * strip) / 2 * kPanelKeys;
      op_.simd.gradient({.s = w.s + strip * 4 * kTileWords,
                         .dp = w.dp + strip * 4 * kTileWords,
                         .row = 16,
                         .group = kTileWords,
                         .lse2 = w.lse2 + query,
                         .delta = w.delta + query,
                         .g16 = reinterpret_cast<uint16_t*>(w.g16) + 16 * strip * kPanelKeys,
                         .p_pairs = w.p_pairs + pairs,
                         .g_pairs = w.g_pairs + pairs,
                         .rows = 16,
                         .first = window > 0 ? query - window + 1 - key : -kKeyTile,
                         .end = query + 1 - key});
    }
    add_columns({.a = bytes(w.g16),
                 .a_strip = kAmxRows * 2 * kPanelKeys,
                 .a_step = kAmxStepBytes,
                 .a_row = 2 * kPanelKeys,
                 .c_strip = dp_ / 16 * kAmxTile,
                 .steps = kPanelKeys / 32},
                w.k_sum, dp_, bytes(w.gq + first * dp_));
  }

  // gk and gv of the keys from `rows` queries.
  void key_side(const Scratch& w, int64_t i, int64_t rows) const {
    const int64_t steps = rows / kUnit, groups = gkv_row() / 16;
    for (int64_t s = 0; s < steps; ++s)
      for (int64_t strip = 0; strip < 4; ++strip) {
        const int64_t from = 16 * s * kPanelKeys + 16 * strip, to = (4 * s + strip) * kTileWords;
        op_.tile.transpose(w.g_pairs + from, kPanelKeys, 16, 16, w.g_turned + to, 16);
        op_.tile.transpose(w.p_pairs + from, kPanelKeys, 16, 16, w.p_turned + to, 16);
      }
    for (int64_t strip = 0; strip < 4; strip += 2) {
      AmxBlock t{.a_strip = kAmxTile, .a_step = 4 * kAmxTile, .c_strip = groups * kAmxTile, .steps = steps};
      uint8_t* c = bytes(w.gkv) + strip * groups * kAmxTile;
      t.a = bytes(w.g_turned + strip * kTileWords);
      add_columns(t, w.q_sum + i / 2 * dp_, dp_, c);
      t.a = bytes(w.p_turned + strip * kTileWords);
      add_columns(t, w.go_sum + i / 2 * dvp_, dvp_, c + dp_ / 16 * kAmxTile);
    }
  }

  static const uint8_t* bytes(const uint32_t* p) { return reinterpret_cast<const uint8_t*>(p); }
  static uint8_t* bytes(float* p) { return reinterpret_cast<uint8_t*>(p); }

  const AmxKernels& amx_ = amx_kernels();
  Operands op_;
  int64_t slice_ = 0;
  uint32_t* slices_ = nullptr;
};

}  // namespace

void attention_backward_tiles(const AttentionBackwardArgs<float>& a, int64_t longest, Arena& scratch) {
  run_backward(TileBackward(a, longest, scratch), a, scratch);
}

}  // namespace quern::kernels
