// Choosing scales: W [N, K] to bytes or nibbles, row by row.
// q8: S = max|w| / 127. q4: S puts the row's coarsest group at the top of the scale codes; each group then takes,
// among the codes around max|w| / 8 (or (max − min) / 15 with zero inside), the one with the least
// Σ_k importance·(w − W)². With importance given, q8 too tries scales down to 0.9 of the plain one.
#include <atomic>
#include <cmath>
#include <cstring>

#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/quant/quant_linear.h"

namespace quern::kernels {
namespace {

struct Row {
  const float* w;
  const float* h;  // importance
};

// Σ h·(w − s·(clamp(round(w / s) + z, 0, top) − z))²; `+ 0.5` and a cast: this loop is vectorised.
float error_of(Row r, int64_t n, float s, int z, int top) {
  const float inverse = 1 / s, shift = static_cast<float>(z) + 0.5f;
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t p = 0; p < n; ++p) {
    const float u = std::min(std::max(r.w[p] * inverse + shift, 0.0f), static_cast<float>(top) + 0.5f);
    const float d = r.w[p] - s * static_cast<float>(static_cast<int>(u) - z);
    sum += r.h[p] * d * d;
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

void put_scale(const QuantLayout& l, uint8_t* blob, int64_t i, float s) {
  std::memcpy(blob + l.scales_at() + 4 * i, &s, 4);
}

void pack_q8(const QuantLayout& l, uint8_t* blob, int64_t i, Row r, bool search) {
  float s = worthy(largest(r.w, l.k) / 127);
  if (search && s > 0) {
    float best = error_of(r, l.k, s, 127, 254), plain = s;
    for (int step = 1; step <= 10; ++step) {
      const float at = plain * (1 - 0.01f * static_cast<float>(step)), e = error_of(r, l.k, at, 127, 254);
      if (e < best) best = e, s = at;
    }
  }
  int32_t sum = 0;
  for (int64_t p = 0; p < l.k; ++p) {
    const int q = s > 0 ? rounded(r.w[p], s, 127, 254) - 127 : 0;
    blob[l.at(i, p)] = static_cast<uint8_t>(static_cast<int8_t>(q));
    sum += q;
  }
  put_scale(l, blob, i, s);
  std::memcpy(blob + l.sums_at() + 4 * i, &sum, 4);
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

void pack_q4(const QuantLayout& l, uint8_t* blob, int64_t i, Row r) {
  float coarsest = 0;
  auto length = [&](int64_t g) { return std::min(l.block_k, l.k - g * l.block_k); };
  for (int64_t g = 0; g < l.blocks; ++g)
    coarsest = std::max(coarsest, plain_step(l, range_of(r.w + g * l.block_k, length(g))));
  const float S = worthy(coarsest / 1.75f);
  put_scale(l, blob, i, S);
  for (int64_t g = 0; g < l.blocks; ++g) {
    const Row part{r.w + g * l.block_k, r.h + g * l.block_k};
    const int64_t n = length(g);
    const Range range = range_of(part.w, n);
    int code = 0, z = l.asymmetric ? 0 : 8;
    if (const float step = plain_step(l, range); step > 0 && S > 0) {
      const int top = QuantLayout::code_of(step / S, l.asymmetric);
      float best = INFINITY;
      const int below = l.asymmetric ? 3 : 6;
      for (int c = std::max(0, top - below); c <= std::min(255, top + 1); ++c) {
        const float s = S * QuantLayout::scale_of(static_cast<uint8_t>(c), l.asymmetric);
        const int at = l.asymmetric ? std::clamp(static_cast<int>(std::nearbyint(-range.low / s)), 0, 15) : 8;
        if (const float e = error_of(part, n, s, at, 15); e < best) best = e, code = c, z = at;
      }
    }
    const int64_t at = l.group_at(i, g * l.block_k);
    const float s = S * QuantLayout::scale_of(static_cast<uint8_t>(code), l.asymmetric);
    blob[at] = static_cast<uint8_t>(code);
    if (l.asymmetric) blob[at + QuantLayout::kPanel] = static_cast<uint8_t>(z);
    for (int64_t p = g * l.block_k; p < (g + 1) * l.block_k; ++p) {
      const int u = p < l.k && S > 0 ? rounded(r.w[p], s, z, 15) : z;
      uint8_t& byte = blob[l.at(i, p)];
      byte = static_cast<uint8_t>((byte & ~(15 << QuantLayout::shift(p))) | u << QuantLayout::shift(p));
    }
  }
}

}  // namespace

QuantLinear QuantLinear::pack(const Tensor& w, const WeightScheme& s, std::span<const float> importance) {
  QUERN_CHECK(w.rank() == 2 && s.quantised(), "QuantLinear takes [N, K], got {}", to_string(w.shape()));
  check(s, "scheme");
  const int64_t N = w.dim(0), K = w.dim(1);
  QUERN_CHECK(importance.empty() || static_cast<int64_t>(importance.size()) == K);
  const QuantLayout l(N, K, s);
  Tensor blob = Tensor::zeros({l.bytes()}, DType::u8);
  const std::vector<float> even(static_cast<size_t>(K), 1.0f);
  const float* h = importance.empty() ? even.data() : importance.data();
  std::atomic<int64_t> bad = -1;  // an error is thrown by this thread, not by a worker
  parallel_for(l.panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t first = begin * QuantLayout::kPanel; first < std::min(N, end * QuantLayout::kPanel);
         first += QuantLayout::kPanel) {
      const Tensor rows = w.narrow(0, first, std::min(N - first, QuantLayout::kPanel)).to(DType::f32).clone();
      for (int64_t i = first; i < first + rows.dim(0); ++i) {
        const float* p = rows.data<float>() + (i - first) * K;
        if (!std::all_of(p, p + K, [](float v) { return std::isfinite(v); }))
          bad = i;
        else if (l.four)
          pack_q4(l, blob.data<uint8_t>(), i, {p, h});
        else
          pack_q8(l, blob.data<uint8_t>(), i, {p, h}, !importance.empty());
      }
    }
  });
  if (bad >= 0) fail("row {} holds a value that is not finite: it cannot be quantised", bad.load());
  return view(blob, N, K, s, "packed weights");
}

}  // namespace quern::kernels
