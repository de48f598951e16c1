// Quantization: chooses scales and rounds W [N, K] to bytes or nibbles, 64 rows at a time, channels in order. q8: S =
// max|w| / 127. q4: S puts the row's coarsest group at the top of the scale codes; each group then takes, among the
// codes around max|w| / 8 (or (max − min) / 15 with zero inside), the one with the smallest Σ_k d_k·(w − W)². d is 1
// without a factor of the inputs. With one, q8 too tries scales down to 0.9 of the plain one, and what is rounded is
// not w but w + Σ_{j<k} U_jk·δ_j (error_feedback.h), δ = w − W.
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/quant/error_feedback.h"

namespace quern::kernels {
namespace {

struct Row {
  const float* w;
  const float* d;  // what a squared error in a channel costs
};

// Σ d·(w − s·(clamp(round(w / s) + z, 0, top) − z))²; `+ 0.5` and a cast: this loop is vectorized.
float error_of(Row r, int64_t n, float s, int z, int top) {
  const float inverse = 1 / s, shift = static_cast<float>(z) + 0.5f;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t p = 0; p < n; ++p) {
    const float u = std::min(std::max(r.w[p] * inverse + shift, 0.0f), static_cast<float>(top) + 0.5f);
    const float d = r.w[p] - s * static_cast<float>(static_cast<int>(u) - z);
    sum += r.d[p] * d * d;
  }
  return sum;
}

int rounded(float w, float s, int z, int top) {
  return static_cast<int>(
      std::min(std::max(w / s + static_cast<float>(z) + 0.5f, 0.0f), static_cast<float>(top) + 0.5f));
}

// Steps too small to be divided by count as zero.
float worthy(float step) { return step < 1e-30f ? 0 : step; }

float largest(const float* w, int64_t n) {
  float m = 0;
  for (int64_t p = 0; p < n; ++p) m = std::max(m, std::fabs(w[p]));
  return m;
}

// The plain step of q8, or with d the best of those just below.
float step_of_q8(Row r, int64_t n, bool search) {
  const float plain = worthy(largest(r.w, n) / 127);
  if (!search || plain == 0) return plain;
  float s = plain, best = error_of(r, n, s, 127, 254);
  for (int step = 1; step <= 10; ++step) {
    const float at = plain * (1 - 0.01f * static_cast<float>(step)), e = error_of(r, n, at, 127, 254);
    if (e < best) best = e, s = at;
  }
  return s;
}

struct Range {
  float low = 0, high = 0;  // zero included
};

Range range_of(const float* w, int64_t n) {
  Range r;
  for (int64_t p = 0; p < n; ++p) r.low = std::min(r.low, w[p]), r.high = std::max(r.high, w[p]);
  return r;
}

// The step that just covers a range.
float plain_step(const QuantLayout& l, Range r) {
  return l.asymmetric ? (r.high - r.low) / 15 : std::max(-r.low / 8, r.high / 7);
}

struct Grid {  // W = step·(u − z), u in 0 … top
  float step = 0;
  int z = 0, code = 0;
};

Grid grid_of_q4(const QuantLayout& l, Row r, int64_t n, float S) {
  Grid grid{0, l.asymmetric ? 0 : 8, 0};
  const Range range = range_of(r.w, n);
  if (const float step = plain_step(l, range); step > 0 && S > 0) {
    const int top = QuantLayout::code_of(step / S, l.asymmetric), below = l.asymmetric ? 3 : 6;
    float best = INFINITY;
    for (int c = std::max(0, top - below); c <= std::min(255, top + 1); ++c) {
      const float s = S * QuantLayout::scale_of(static_cast<uint8_t>(c), l.asymmetric);
      const int z = l.asymmetric ? std::clamp(static_cast<int>(std::nearbyint(-range.low / s)), 0, 15) : 8;
      if (const float e = error_of(r, n, s, z, 15); e < best) best = e, grid.code = c, grid.z = z;
    }
  }
  grid.step = S * QuantLayout::scale_of(static_cast<uint8_t>(grid.code), l.asymmetric);
  return grid;
}

constexpr int64_t kRows = QuantLayout::kPanel;
constexpr int64_t kBlock = 64;  // channels between two looks back, at most: a group of q4 is 32 or 64

// y[k][·] += Σ_j U_jk·δ_j[·], for channels j in [from, to) and the `n` channels from `at`.
void feed_back(const InputFactor& f, const float* delta, int64_t from, int64_t to, int64_t at, int64_t n, float* y) {
  const int64_t K = f.u.dim(1);
  const float* u = f.u.data<float>();
  for (int64_t j = from; j < to; ++j)
    for (int64_t k = 0; k < n; ++k) {
      const float by = u[j * K + at + k];
#pragma omp simd
      for (int64_t r = 0; r < kRows; ++r) y[k * kRows + r] += by * delta[j * kRows + r];
    }
}

// 64 rows of W from `first` on, while they are packed. Of a channel their values lie side by side.
class Panel {
 public:
  Panel(const QuantLayout& l, uint8_t* blob, int64_t first, const Tensor& rows, const InputFactor* f)
      : l_(l),
        blob_(blob),
        first_(first),
        rows_(rows.dim(0)),
        w_(rows.data<float>()),
        f_(f),
        feeds_(f && f->u.defined()) {
    if (!f) even_.resize(static_cast<size_t>(l.k), 1.0f);
    if (feeds_) delta_.resize(static_cast<size_t>(l.k * kRows));
  }

  void pack() {
    for (int64_t r = 0; r < rows_; ++r) choose_row_scale(r);
    const int64_t block = l_.four ? l_.block_k : kBlock;
    for (int64_t at = 0; at < l_.k; at += block) {
      const int64_t n = std::min(block, l_.k - at);
      for (int64_t k = 0; k < n; ++k)
        for (int64_t r = 0; r < rows_; ++r) target_[static_cast<size_t>(k * kRows + r)] = w_[r * l_.k + at + k];
      if (feeds_) feed_back(*f_, delta_.data(), 0, at, at, n, target_.data());
      for (int64_t r = 0; l_.four && r < rows_; ++r) choose_group_scale(r, at, n);
      for (int64_t k = 0; k < n; ++k) {
        float* target = target_.data() + k * kRows;
        if (feeds_) feed_back(*f_, delta_.data(), at, at + k, at + k, 1, target);
        for (int64_t r = 0; r < rows_; ++r) round(r, at + k, target[r]);
      }
      for (int64_t k = n; l_.four && k < block; ++k)  // a group is filled up with weights of value zero
        for (int64_t r = 0; r < rows_; ++r) put(r, at + k, grid(r).z);
    }
    for (int64_t r = 0; !l_.four && r < rows_; ++r)
      std::memcpy(blob_ + l_.sums_at() + 4 * (first_ + r), &sum_[static_cast<size_t>(r)], 4);
  }

 private:
  Grid& grid(int64_t r) { return grid_[static_cast<size_t>(r)]; }
  const float* cost() const { return f_ ? f_->d.data() : even_.data(); }

  void choose_row_scale(int64_t r) {
    const float* w = w_ + r * l_.k;
    float s = 0;
    if (l_.four) {
      for (int64_t g = 0; g < l_.k; g += l_.block_k)
        s = std::max(s, plain_step(l_, range_of(w + g, std::min(l_.block_k, l_.k - g))));
      s = worthy(feeds_ ? s : s / 1.75f);  // feedback moves weights: room for groups to become coarser
    } else {
      s = step_of_q8({w, cost()}, l_.k, f_ != nullptr);
      grid(r) = {s, 127, 0};
    }
    S_[static_cast<size_t>(r)] = s;
    std::memcpy(blob_ + l_.scales_at() + 4 * (first_ + r), &s, 4);
  }

  void choose_group_scale(int64_t r, int64_t at, int64_t n) {
    float line[kBlock];
    for (int64_t k = 0; k < n; ++k) line[k] = target_[static_cast<size_t>(k * kRows + r)];
    const Grid g = grid_of_q4(l_, {line, cost() + at}, n, S_[static_cast<size_t>(r)]);
    uint8_t* head = blob_ + l_.group_at(first_ + r, at);
    head[0] = static_cast<uint8_t>(g.code);
    if (l_.asymmetric) head[kRows] = static_cast<uint8_t>(g.z);
    grid(r) = g;
  }

  void round(int64_t r, int64_t k, float target) {
    const Grid& g = grid(r);
    const int u = g.step > 0 ? rounded(target, g.step, g.z, l_.four ? 15 : 254) : g.z;
    put(r, k, u);
    if (!l_.four) sum_[static_cast<size_t>(r)] += u - g.z;
    if (feeds_) delta_[static_cast<size_t>(k * kRows + r)] = w_[r * l_.k + k] - g.step * static_cast<float>(u - g.z);
  }

  void put(int64_t r, int64_t k, int u) {
    uint8_t& byte = blob_[l_.at(first_ + r, k)];
    const int shift = QuantLayout::shift(k);
    byte = static_cast<uint8_t>(l_.four ? (byte & ~(15 << shift)) | u << shift : u - grid(r).z);
  }

  const QuantLayout& l_;
  uint8_t* blob_;
  int64_t first_, rows_;
  const float* w_;
  const InputFactor* f_;
  bool feeds_;
  std::vector<float> even_, delta_;  // δ, once a weight is rounded
  std::array<float, static_cast<size_t>(kBlock* kRows)> target_ = {};
  std::array<Grid, static_cast<size_t>(kRows)> grid_ = {};
  std::array<float, static_cast<size_t>(kRows)> S_ = {};
  std::array<int32_t, static_cast<size_t>(kRows)> sum_ = {};
};

}  // namespace

QuantLinear quantize_with_error_feedback(const Tensor& w, const QuantFormat& s, const InputFactor& given) {
  QUERN_CHECK(w.rank() == 2 && s.quantized(), "QuantLinear takes [N, K], got {}", to_string(w.shape()));
  check(s, "scheme");
  const int64_t N = w.dim(0), K = w.dim(1);
  const InputFactor* inputs = given.d.empty() ? nullptr : &given;
  QUERN_CHECK(!inputs || static_cast<int64_t>(inputs->d.size()) == K);
  const QuantLayout l(N, K, s);
  Tensor blob = Tensor::zeros({l.bytes()}, DType::u8);
  std::atomic<int64_t> bad = -1;  // an error is thrown by this thread, not by a worker
  parallel_dynamic(l.panels, [&](int64_t panel) {
    const int64_t first = panel * kRows;
    const Tensor rows = w.narrow(0, first, std::min(N - first, kRows)).to(DType::f32).clone();
    for (int64_t i = 0; i < rows.dim(0); ++i)
      if (const float* p = rows.data<float>() + i * K;
          !std::all_of(p, p + K, [](float v) { return std::isfinite(v); })) {
        bad = first + i;
        return;
      }
    Panel(l, blob.data<uint8_t>(), first, rows, inputs).pack();
  });
  if (bad >= 0) fail("row {} has a value that is not finite and cannot be quantized", bad.load());
  return QuantLinear::view(blob, N, K, s, "quantized weights");
}

QuantLinear QuantLinear::pack(const Tensor& w, const QuantFormat& s) {
  return quantize_with_error_feedback(w, s, {});
}

}  // namespace quern::kernels
