#include "quern/mixers/ranks/context_blocks.h"

#include <cmath>
#include <limits>

#include "quern/base/threads.h"
#include "quern/kernels/gemm/gemm.h"

namespace quern::mixers {
namespace {

// Rows [begin, begin + n) of one head.
template <class T>
View<T, 2> head(const Tensor& x, int64_t begin, int64_t n, int64_t h) {
  const Shape& step = x.strides();
  return {x.data<std::remove_const_t<T>>() + begin * step[0] + h * step[1], {n, x.dim(2)}, {step[0], 1}};
}

}  // namespace

std::vector<RowRun> runs_of(const std::vector<int64_t>& rows) {
  std::vector<RowRun> runs;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (runs.empty() || rows[i] != runs.back().row + runs.back().n)
      runs.push_back({static_cast<int64_t>(i), rows[i], 0});
    ++runs.back().n;
  }
  return runs;
}

template <class T>
BlockPartial<T> BlockPartial<T>::nothing(int64_t n, const BlockHeads& h) {
  constexpr DType t = dtype_of<T>::value;
  return {Tensor::zeros({n, h.q, h.dv}, t), Tensor::full({n, h.q}, t, -std::numeric_limits<T>::infinity()),
          Tensor::zeros({n, h.q}, t)};
}

template <class T>
void BlockPartial<T>::divide() const {
  const int64_t dv = o.dim(2);
  parallel_for(m.size(), 256, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T sum = l.template data<T>()[i];
      if (sum == 0) continue;
      m.template data<T>()[i] += std::log(sum);
      for (int64_t j = 0; j < dv; ++j) o.template data<T>()[i * dv + j] /= sum;
    }
  });
}

template <class T>
void forward_block(const VisibleBlocks& blocks, const BlockHeads& h, const Tensor& q, const BlockKeys& keys,
                   const BlockPartial<T>& p) {
  std::vector<T> scores;
  blocks.each(keys.runs, [&](int64_t q0, int64_t nq, int64_t k0, int64_t nk, int64_t q_row, int64_t k_row) {
    scores.resize(static_cast<size_t>(nq * nk));
    for (int64_t i = 0; i < h.q; ++i) {
      const int64_t g = i / (h.q / h.kv);
      const View<T, 2> s{scores.data(), {nq, nk}};
      kernels::gemm<T>(head<const T>(q, q0, nq, i), head<const T>(keys.k, k0, nk, g), s,
                       {.trans_b = true, .bf16 = h.bf16});
      const View<T, 2> o = head<T>(p.o, q0, nq, i);
      parallel_for(nq, 8, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const auto [lo, hi] = blocks.seen(q_row + r, k_row, nk);
          T* x = scores.data() + r * nk;
          T &m = p.m.template data<T>()[(q0 + r) * h.q + i], &l = p.l.template data<T>()[(q0 + r) * h.q + i], top = m;
          for (int64_t j = lo; j < hi; ++j) top = std::max(top, x[j] *= static_cast<T>(h.scale));
          const T keep = lo == hi ? T(1) : std::exp(m - top);
          T sum = 0;
          for (int64_t j = 0; j < nk; ++j) sum += x[j] = j >= lo && j < hi ? std::exp(x[j] - top) : T(0);
          l = l * keep + sum, m = top;
          for (int64_t j = 0; j < h.dv; ++j) o(r, j) *= keep;
        }
      });
      kernels::gemm<T>({scores.data(), {nq, nk}}, head<const T>(keys.v, k0, nk, g), o, {.beta = 1, .bf16 = h.bf16});
    }
  });
}

template <class T>
void backward_block(const VisibleBlocks& blocks, const BlockHeads& h, const BlockSaved<T>& x,
                    const BlockBackwardArgs& in) {
  std::vector<T> probs, scores;
  blocks.each(in.runs, [&](int64_t q0, int64_t nq, int64_t k0, int64_t nk, int64_t q_row, int64_t k_row) {
    probs.resize(static_cast<size_t>(nq * nk)), scores.resize(probs.size());
    const View<T, 2> p{probs.data(), {nq, nk}}, s{scores.data(), {nq, nk}};
    for (int64_t i = 0; i < h.q; ++i) {
      const int64_t g = i / (h.q / h.kv);
      kernels::gemm<T>(head<const T>(x.q, q0, nq, i), head<const T>(in.k, k0, nk, g), p,
                       {.trans_b = true, .bf16 = h.bf16});
      kernels::gemm<T>(head<const T>(in.go, q0, nq, i), head<const T>(in.v, k0, nk, g), s,
                       {.trans_b = true, .bf16 = h.bf16});
      parallel_for(nq, 8, [&](int64_t begin, int64_t end) {
        for (int64_t r = begin; r < end; ++r) {
          const auto [lo, hi] = blocks.seen(q_row + r, k_row, nk);
          const T lse = x.lse.template data<T>()[(q0 + r) * h.q + i], d = in.delta.data<T>()[(q0 + r) * h.q + i];
          for (int64_t j = 0; j < nk; ++j) {
            const bool there = j >= lo && j < hi;
            p(r, j) = there ? std::exp(p(r, j) * static_cast<T>(h.scale) - lse) : T(0);
            s(r, j) = there ? p(r, j) * (s(r, j) - d) * static_cast<T>(h.scale) : T(0);
          }
        }
      });
      const View<const T, 2> pc{probs.data(), {nq, nk}}, sc{scores.data(), {nq, nk}};
      const kernels::GemmOptions add{.beta = 1, .bf16 = h.bf16}, add_t{.trans_a = true, .beta = 1, .bf16 = h.bf16};
      kernels::gemm<T>(pc, head<const T>(in.go, q0, nq, i), head<T>(in.gv, k0, nk, g), add_t);
      kernels::gemm<T>(sc, head<const T>(in.k, k0, nk, g), head<T>(in.gq, q0, nq, i), add);
      kernels::gemm<T>(sc, head<const T>(x.q, q0, nq, i), head<T>(in.gk, k0, nk, g), add_t);
    }
  });
}

template <class T>
Tensor block_delta(const Tensor& go, const Tensor& o) {
  const int64_t dv = o.dim(2);
  const Tensor delta = Tensor::empty({o.dim(0), o.dim(1)}, o.dtype());
  for (int64_t i = 0; i < delta.size(); ++i) {
    T sum = 0;
    for (int64_t j = i * dv; j < (i + 1) * dv; ++j) sum += go.data<T>()[j] * o.data<T>()[j];
    delta.data<T>()[i] = sum;
  }
  return delta;
}

#define QUERN_BLOCKS(T)                                                                                    \
  template struct BlockPartial<T>;                                                                         \
  template void forward_block<T>(const VisibleBlocks&, const BlockHeads&, const Tensor&, const BlockKeys&, \
                                 const BlockPartial<T>&);                                                  \
  template Tensor block_delta<T>(const Tensor&, const Tensor&);                                            \
  template void backward_block<T>(const VisibleBlocks&, const BlockHeads&, const BlockSaved<T>&,           \
                                  const BlockBackwardArgs&)
QUERN_BLOCKS(float);
QUERN_BLOCKS(double);
#undef QUERN_BLOCKS

}  // namespace quern::mixers
