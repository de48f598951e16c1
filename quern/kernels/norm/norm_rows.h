// Bodies of the fast row norms; included only by norm_avx2.cc and norm_avx512.cc. The equations are those of
// norm_ref.cc. Each is written once for ordinary and once for streaming stores, chosen by a template flag.
#pragma once
#include "quern/kernels/norm/norm_simd.h"
#include "quern/kernels/vec_math.h"

namespace quern::kernels {
namespace {

template <bool kStream>
void rms_norm_rows(const NormRows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t) {
    const float* x = a.x + t * a.x_stride;
    float* y = a.y + t * a.y_stride;
    float squares = sum_vec(a.d, [&](int64_t c, auto m) {
      Vf v = load(x + c, m);
      return v * v;
    });
    const float inv = 1 / __builtin_sqrtf(squares / static_cast<float>(a.d) + a.eps);
    const Vf i = vset(inv);
    each_vec<kStream>(a.d, [&](int64_t c, auto m) { store(y + c, load(x + c, m) * i * load(a.w + c, m), m); });
    if (a.inv) a.inv[t] = inv;
  }
  end_stores<kStream>();
}

template <bool kStream>
void layer_norm_rows(const NormRows& a, int64_t begin, int64_t end) {
  const float n = static_cast<float>(a.d);
  for (int64_t t = begin; t < end; ++t) {
    const float* x = a.x + t * a.x_stride;
    float* y = a.y + t * a.y_stride;
    const float mean = sum_vec(a.d, [&](int64_t c, auto m) { return load(x + c, m); }) / n;
    const Vf mv = vset(mean);
    const float var = sum_vec(a.d,
                              [&](int64_t c, auto m) {
                                Vf v = keep(load(x + c, m) - mv, vset(0), m);
                                return v * v;
                              }) /
                      n;
    const float inv = 1 / __builtin_sqrtf(var + a.eps);
    const Vf i = vset(inv);
    each_vec<kStream>(a.d, [&](int64_t c, auto m) {
      fetch(x + a.x_stride + c);
      Vf v = (load(x + c, m) - mv) * i;
      store(y + c, a.b ? fma(v, load(a.w + c, m), load(a.b + c, m)) : v * load(a.w + c, m), m);
    });
    if (a.mean) a.mean[t] = mean;
    if (a.inv) a.inv[t] = inv;
  }
  end_stores<kStream>();
}

// The next row's x and gy are fetched while this row is finished: the statistic of a row must be whole before its second
// walk begins, and without the hint the memory bus would idle through every second walk.
template <bool kStream, bool kCentered>  // kCentered: LayerNorm
void norm_backward_rows(const NormRowsBackward& a, float* gw, float* gb, int64_t begin, int64_t end) {
  const float n = static_cast<float>(a.d);
  for (int64_t t = begin; t < end; ++t) {
    const float *x = a.x + t * a.x_stride, *gy = a.gy + t * a.gy_stride;
    float* gx = a.gx + t * a.gx_stride;
    const Vf inv = vset(a.inv[t]), mean = vset(kCentered ? a.mean[t] : 0);
    const Sum2 sums = sum2_vec(a.d, [&](int64_t c, auto m) {
      const Vf g = load(gy + c, m) * load(a.w + c, m);
      return Vf2{g, g * (load(x + c, m) - mean)};
    });
    const Vf mean_g = vset(kCentered ? sums.a / n : 0), along = vset(sums.b * a.inv[t] / n);
    each_vec<kStream>(a.d, [&](int64_t c, auto m) {
      fetch(x + a.x_stride + c);
      fetch(gy + a.gy_stride + c);
      const Vf g = load(gy + c, m), v = (load(x + c, m) - mean) * inv;
      if (gw) store(gw + c, fma(g, v, load(gw + c, m)), cached(m));
      if (gb) store(gb + c, g + load(gb + c, m), cached(m));
      store(gx + c, inv * fnma(v, along, fms(g, load(a.w + c, m), mean_g)), m);
    });
  }
  end_stores<kStream>();
}

template <bool kStream>
void l2_norm_rows(const L2Rows& a, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t)
    for (int64_t h = 0; h < a.heads; ++h) {
      const float* x = a.x + t * a.x_stride + h * a.x_head;
      float* y = a.y + t * a.y_stride + h * a.y_head;
      const float squares = sum_vec(a.d, [&](int64_t c, auto m) {
        Vf v = load(x + c, m);
        return v * v;
      });
      const float norm = __builtin_sqrtf(squares), divisor = norm > a.eps ? norm : a.eps;
      const Vf s = vset(a.scale / divisor * (a.temperature ? a.temperature[h] : 1));
      each_vec<kStream>(a.d, [&](int64_t c, auto m) { store(y + c, load(x + c, m) * s, m); });
      if (a.norm) a.norm[t * a.norm_stride + h] = norm;
    }
  end_stores<kStream>();
}

template <bool kStream>
void l2_norm_backward_rows(const L2Rows& a, float* g_temperature, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t)
    for (int64_t h = 0; h < a.heads; ++h) {
      const float *x = a.x + t * a.x_stride + h * a.x_head, *gy = a.gy + t * a.gy_stride + h * a.gy_head;
      float* gx = a.y + t * a.y_stride + h * a.y_head;
      const float norm = a.saved_norm[t * a.norm_stride + h], s = a.scale / (norm > a.eps ? norm : a.eps);
      const float dot = sum_vec(a.d, [&](int64_t c, auto m) { return load(x + c, m) * load(gy + c, m); });
      const Vf scale = vset(s * (a.temperature ? a.temperature[h] : 1));
      const Vf along = vset(norm > a.eps ? dot / norm / norm : 0);
      each_vec<kStream>(
          a.d, [&](int64_t c, auto m) { store(gx + c, scale * fnma(load(x + c, m), along, load(gy + c, m)), m); });
      if (g_temperature) g_temperature[h] += s * dot;
    }
  end_stores<kStream>();
}

constexpr NormTable kNormTable = {
    {rms_norm_rows<false>, rms_norm_rows<true>},
    {layer_norm_rows<false>, layer_norm_rows<true>},
    {norm_backward_rows<false, false>, norm_backward_rows<true, false>},
    {norm_backward_rows<false, true>, norm_backward_rows<true, true>},
    {l2_norm_rows<false>, l2_norm_rows<true>},
    {l2_norm_backward_rows<false>, l2_norm_backward_rows<true>},
};

}  // namespace
}  // namespace quern::kernels
