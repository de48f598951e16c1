// gemm<T>: dispatch. float: the reference under QUERN_ISA=ref, else oneDNN's sgemm (built with QUERN_ONEDNN) or
// gemm_panels; double: a loop blocked over K so that a block of B's rows stays in the second-level cache.
#include "quern/kernels/gemm/gemm.h"

#include <algorithm>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/threads.h"
#include "quern/kernels/gemm/gemm_panels.h"
#include "quern/kernels/gemm/gemm_rounded.h"
#include "quern/trace/trace.h"

#ifdef QUERN_ONEDNN
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#endif

namespace quern::kernels {
namespace {

void check_shapes(int64_t am, int64_t ak, int64_t bk, int64_t bn, int64_t m, int64_t n) {
  QUERN_CHECK(am == m && ak == bk && bn == n, "op(A) [{}, {}], op(B) [{}, {}], C [{}, {}]", am, ak, bk, bn, m, n);
}

void gemm_f64(View<const double, 2> a, View<const double, 2> b, View<double, 2> c, GemmOptions o) {
  constexpr int64_t kRowsPerPart = 4;  // below this a thread costs more than it brings
  constexpr int64_t kBlockK = 128;     // 128 rows of B at N = 1024: 1 MiB, the second-level cache
  int64_t n = c.shape[1], k = a.shape[o.trans_a ? 0 : 1];
  parallel_for(c.shape[0], kRowsPerPart, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < n; ++j) c(i, j) = o.beta == 0 ? 0 : o.beta * c(i, j);
    for (int64_t p0 = 0; p0 < k; p0 += kBlockK) {
      int64_t p1 = std::min(k, p0 + kBlockK);
      for (int64_t i = begin; i < end; ++i) {
        double* ci = c.row(i);
        if (o.trans_b) {
          for (int64_t j = 0; j < n; ++j) {
            const double* bj = b.row(j);
            double sum = 0;
            for (int64_t p = p0; p < p1; ++p) sum += (o.trans_a ? a(p, i) : a(i, p)) * bj[p];
            ci[j] += sum;
          }
          continue;
        }
        for (int64_t p = p0; p < p1; ++p) {
          const double x = o.trans_a ? a(p, i) : a(i, p);
          const double* bp = b.row(p);
          for (int64_t j = 0; j < n; ++j) ci[j] += x * bp[j];
        }
      }
    }
  });
}

#ifndef QUERN_ONEDNN

constexpr bool onednn_serves() { return false; }
void gemm_f32(View<const float, 2> a, View<const float, 2> b, View<float, 2> c, GemmOptions o) {
  gemm_panels(a, b, c, o);
}

#else

// oneDNN fixes its instruction set at its first call; until then it takes ours. Below it (tests, benches) our own
// tiles serve.
bool onednn_serves() {
  static const Isa fixed = [] {
    Isa isa = active_isa();
    if (isa == Isa::avx2 && dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2) != dnnl_success) isa = detected_isa();
    return isa;
  }();
  return active_isa() == fixed;
}

// A single row may carry any stride; BLAS interfaces still want a leading dimension of at least the row length.
template <class T>
int64_t leading(const View<T, 2>& v) {
  return v.shape[0] > 1 ? v.stride[0] : std::max<int64_t>(1, v.shape[1]);
}

void gemm_f32(View<const float, 2> a, View<const float, 2> b, View<float, 2> c, GemmOptions o) {
  int64_t k = a.shape[o.trans_a ? 0 : 1];
  if (k == 0) {  // oneDNN leaves C alone then
    for (int64_t i = 0; i < c.shape[0]; ++i)
      for (int64_t j = 0; j < c.shape[1]; ++j) c(i, j) = o.beta == 0 ? 0 : static_cast<float>(o.beta) * c(i, j);
    return;
  }
  // Our pool splits the product and oneDNN works alone on each piece: its own OpenMP threads would spin beside ours.
  constexpr int64_t kMin = 64;  // rows or columns a piece must have to be worth a thread
  bool by_rows = c.shape[0] >= c.shape[1];
  parallel_for(by_rows ? c.shape[0] : c.shape[1], kMin, [&](int64_t begin, int64_t end) {
    thread_local const bool alone = (omp_set_num_threads(1), true);
    (void)alone;
    int64_t m = by_rows ? end - begin : c.shape[0], n = by_rows ? c.shape[1] : end - begin, row = by_rows ? begin : 0,
            col = by_rows ? 0 : begin;
    const float* ap = a.data + (o.trans_a ? row : row * a.stride[0]);
    const float* bp = b.data + (o.trans_b ? col * b.stride[0] : col);
    float* cp = c.data + row * c.stride[0] + col;
    dnnl_status_t status = dnnl_sgemm(o.trans_a ? 'T' : 'N', o.trans_b ? 'T' : 'N', m, n, k, 1.0f, ap, leading(a), bp,
                                      leading(b), static_cast<float>(o.beta), cp, leading(c));
    QUERN_CHECK(status == dnnl_success, "dnnl_sgemm says {}", static_cast<int>(status));
  });
}

#endif

void trace_product(trace::Span& span, std::array<int64_t, 2> mn, int64_t k, size_t element, bool rounded) {
  const auto m = static_cast<double>(mn[0]), n = static_cast<double>(mn[1]), depth = static_cast<double>(k);
  span.begin(trace::Kind::product, fmt::format("{} x {} x {} {}", mn[0], mn[1], k,
                                               element == 8 ? "f64"
                                               : rounded    ? "bf16"
                                                            : "f32"));
  span.count(2 * m * n * depth, static_cast<double>(element) * (m * depth + depth * n + m * n));
}

}  // namespace

template <class T>
void gemm(View<const T, 2> a, View<const T, 2> b, View<T, 2> c, GemmOptions o) {
  check_shapes(a.shape[o.trans_a ? 1 : 0], a.shape[o.trans_a ? 0 : 1], b.shape[o.trans_b ? 1 : 0],
               b.shape[o.trans_b ? 0 : 1], c.shape[0], c.shape[1]);
  if (c.size() == 0) return;
  trace::Span span;
  if (trace::recording()) trace_product(span, c.shape, a.shape[o.trans_a ? 0 : 1], sizeof(T), o.bf16);
  if constexpr (std::is_same_v<T, double>) {
    gemm_f64(a, b, c, o);
  } else {
    if (active_isa() == Isa::ref) return gemm_ref(a, b, c, o);
    switch (gemm_path(c.shape[0], o)) {
      case GemmPath::rounded:
        return gemm_rounded(a, b, c, o);
      case GemmPath::onednn:
        return gemm_f32(a, b, c, o);
      default:
        return gemm_panels(a, b, c, o);
    }
  }
}

GemmPath gemm_path(int64_t m, GemmOptions o) {
  if (active_isa() == Isa::ref) return GemmPath::ref;
  if (o.bf16) return GemmPath::rounded;
  // oneDNN 2.6.3 on Zen 4, x·Wᵀ with K = N = 2048, share of the f32 peak: 9 % at 16 rows, 45 % at 128, 89 % at 2048.
  constexpr int64_t kManyRows = 256;
  bool copies_b = o.trans_b && m < kManyRows;
  return onednn_serves() && !copies_b && !o.one_order ? GemmPath::onednn : GemmPath::panels;
}

std::string gemm_library_version() {
#ifdef QUERN_ONEDNN
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
#else
  return "not in this build";
#endif
}

template void gemm<float>(View<const float, 2>, View<const float, 2>, View<float, 2>, GemmOptions);
template void gemm<double>(View<const double, 2>, View<const double, 2>, View<double, 2>, GemmOptions);

}  // namespace quern::kernels
