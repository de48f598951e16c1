// PackedLinear: y[T, N] = x[T, K]·Wᵀ + b with W packed once into panels of 64 output columns:
//   f32:  panel p, k, j            → W[64p + j, k]                    ([N/64][K][64], oneDNN calls it BA16a64b)
//   bf16: panel p, k/2, j, k mod 2 → W[64p + j, k], pairs along K     ([N/64][K/2][64][2], BA16a64b2a)
// so that one panel is one forward stream for every kernel, and a vdpbf16ps operand is one aligned load.
// N is padded to 64 and K to 2 with zeros. Cost: 2·T·N·K flops; small T is bound by reading W once.
#include <algorithm>
#include <cstring>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::kernels {

constexpr int64_t kPanel = 64;

struct PackedLinear::Impl {
  int64_t n = 0, k = 0, k_pad = 0, panels = 0;
  DType dtype = DType::f32;
  int64_t bytes = 0;
  void* data = nullptr;

  Impl(int64_t n_, int64_t k_, DType t) : n(n_), k(k_), dtype(t) {
    k_pad = (k + 1) / 2 * 2;
    panels = (n + kPanel - 1) / kPanel;
    bytes = panels * kPanel * k_pad * dtype_size(t);
    data = cached_alloc(static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    std::memset(data, 0, static_cast<size_t>(bytes));
  }
  ~Impl() { cached_free(data, static_cast<size_t>(std::max<int64_t>(bytes, 1))); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  int64_t at(int64_t i, int64_t p) const {  // element W[i, p]
    int64_t base = i / kPanel * kPanel * k_pad, j = i % kPanel;
    return dtype == DType::f32 ? base + p * kPanel + j : base + (p / 2) * 2 * kPanel + 2 * j + p % 2;
  }
  float get(int64_t i, int64_t p) const {
    return dtype == DType::f32 ? static_cast<const float*>(data)[at(i, p)]
                               : static_cast<float>(static_cast<const bf16*>(data)[at(i, p)]);
  }
};

PackedLinear PackedLinear::pack(const Tensor& w, DType as) {
  QUERN_CHECK(w.rank() == 2, "PackedLinear takes [N, K], got {}", to_string(w.shape()));
  QUERN_CHECK(as == DType::f32 || as == DType::bf16, "PackedLinear packs f32 or bf16, not {}", dtype_name(as));
  Tensor t = w.to(as);
  auto impl = std::make_shared<Impl>(t.dim(0), t.dim(1), as);
  auto fill = [&](auto zero) {
    using T = decltype(zero);
    auto src = t.view<const T, 2>();
    T* dst = static_cast<T*>(impl->data);
    parallel_for(impl->panels, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin * kPanel; i < std::min(end * kPanel, impl->n); ++i)
        for (int64_t p = 0; p < impl->k; ++p) dst[impl->at(i, p)] = src(i, p);
    });
  };
  if (as == DType::f32)
    fill(float{});
  else
    fill(bf16{});
  PackedLinear r;
  r.impl_ = std::move(impl);
  return r;
}

int64_t PackedLinear::n() const { return impl_->n; }
int64_t PackedLinear::k() const { return impl_->k; }
DType PackedLinear::dtype() const { return impl_->dtype; }
int64_t PackedLinear::bytes() const { return impl_->bytes; }

void PackedLinear::row(int64_t i, View<float, 1> out) const {
  QUERN_CHECK(i >= 0 && i < impl_->n && out.shape[0] == impl_->k, "row {} of {}", i, impl_->n);
  for (int64_t p = 0; p < impl_->k; ++p) out(p) = impl_->get(i, p);
}

void PackedLinear::apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y, Arena&) const {
  const Impl& w = *impl_;
  QUERN_CHECK(x.shape[1] == w.k && y.shape[1] == w.n && x.shape[0] == y.shape[0],
              "x [{}, {}], W [{}, {}], y [{}, {}]", x.shape[0], x.shape[1], w.n, w.k, y.shape[0], y.shape[1]);
  bool round = w.dtype == DType::bf16;
  parallel_for(w.n, 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = 0; i < x.shape[0]; ++i)
      for (int64_t j = begin; j < end; ++j) {
        double sum = bias ? static_cast<double>(bias(j)) : 0;
        for (int64_t p = 0; p < w.k; ++p) {
          float v = x(i, p);
          sum += static_cast<double>(round ? static_cast<float>(bf16(v)) : v) * static_cast<double>(w.get(j, p));
        }
        y(i, j) = static_cast<float>(sum);
      }
  });
}

}  // namespace quern::kernels
