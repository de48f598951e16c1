#include "quern/mixers/gated_delta/fast_weights.h"

#include <algorithm>
#include <cmath>

#include "quern/mixers/ovq/row_math.h"

namespace quern::mixers {
namespace {

// y[dv] = Sᵀ x
template <class T>
void read(const T* state, const T* x, int64_t d, int64_t dv, T* y) {
  RowMath<T>::product({x, d, 1, state, dv, y, dv, 1, dv, d, false});
}

// S += x yᵀ
template <class T>
void write(T* state, const T* x, const T* y, int64_t d, int64_t dv) {
  RowMath<T>::product({x, 1, 1, y, dv, state, dv, d, dv, 1, true});
}

// y[d] += s·S x
template <class T>
void across(const T* state, const T* x, int64_t d, int64_t dv, T s, T* y) {
  for (int64_t i = 0; i < d; ++i) y[i] += s * RowMath<T>::dot(dv, state + i * dv, x);
}

// The state decays to S̄ and takes the token in; lack = v − S̄ᵀk, or v, and u = β·lack are left behind.
template <class T>
void step(const FastWeights<T>& x, int64_t t, T* state, T* lack, T* u) {
  const int64_t d = x.q.shape[1], dv = x.v.shape[1];
  if (x.g) RowMath<T>::scale(d * dv, std::exp(x.g(t)), state);
  if (x.correct) {
    read(state, x.k.row(t), d, dv, lack);
    for (int64_t c = 0; c < dv; ++c) lack[c] = x.v(t, c) - lack[c];
  } else {
    std::copy_n(x.v.row(t), dv, lack);
  }
  for (int64_t c = 0; c < dv; ++c) u[c] = x.beta ? x.beta(t) * lack[c] : lack[c];
  write(state, x.k.row(t), u, d, dv);
}

}  // namespace

template <class T>
void fast_weights(const FastWeights<T>& x, T* state, View<T, 2> out, T* kept, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t n = x.q.shape[0], d = x.q.shape[1], dv = x.v.shape[1];
  T *lack = scratch.take<T>(dv).data(), *u = scratch.take<T>(dv).data();
  for (int64_t t = 0; t < n; ++t) {
    if (kept && t % kFastWeightsKept == 0) std::copy_n(state, d * dv, kept + t / kFastWeightsKept * d * dv);
    step(x, t, state, lack, u);
    read<T>(state, x.q.row(t), d, dv, out.row(t));
  }
}

template <class T>
void fast_weights_backward(const FastWeights<T>& x, const FastWeightsBackwardArgs<T>& in, Arena& scratch) {
  Arena::Scope scope(scratch);
  const int64_t n = x.q.shape[0], d = x.q.shape[1], dv = x.v.shape[1], S = d * dv;
  T* states = scratch.take<T>((kFastWeightsKept + 1) * S).data();  // before each token of a stretch, and behind it
  T* lacks = scratch.take<T>(kFastWeightsKept * dv).data();
  T *gs = scratch.take<T>(S).data(), *u = scratch.take<T>(dv).data(), *du = scratch.take<T>(dv).data();
  std::fill_n(gs, S, T(0));
  for (int64_t stretch = (n - 1) / kFastWeightsKept; n > 0 && stretch >= 0; --stretch) {
    const int64_t begin = stretch * kFastWeightsKept, end = std::min(n, begin + kFastWeightsKept);
    std::copy_n(in.kept + stretch * S, S, states);
    for (int64_t t = begin; t < end; ++t) {
      T* now = states + (t - begin) * S;
      std::copy_n(now, S, now + S);
      step(x, t, now + S, lacks + (t - begin) * dv, u);
    }
    for (int64_t t = end - 1; t >= begin; --t) {
      const T *before = states + (t - begin) * S, *after = before + S, *lack = lacks + (t - begin) * dv,
              *k = x.k.row(t), *go = in.gout.row(t);
      const T beta = x.beta ? x.beta(t) : T(1), decay = x.g ? std::exp(x.g(t)) : T(1);
      std::fill_n(in.gq.row(t), d, T(0)), std::fill_n(in.gk.row(t), d, T(0));
      across<T>(after, go, d, dv, T(1), in.gq.row(t));
      write<T>(gs, x.q.row(t), go, d, dv);
      read<T>(gs, k, d, dv, du);
      for (int64_t c = 0; c < dv; ++c) u[c] = beta * lack[c];
      across<T>(gs, u, d, dv, T(1), in.gk.row(t));
      if (x.beta) in.gbeta(t) = RowMath<T>::dot(dv, du, lack);
      RowMath<T>::scale(dv, beta, du);
      std::copy_n(du, dv, in.gv.row(t));
      if (x.correct) {
        across<T>(before, du, d, dv, -decay, in.gk.row(t));
        RowMath<T>::scale(dv, T(-1), du);
        write<T>(gs, k, du, d, dv);
      }
      if (!x.g) continue;
      in.gg(t) = decay * RowMath<T>::dot(S, gs, before);
      RowMath<T>::scale(S, decay, gs);
    }
  }
}

#define QUERN_FAST_WEIGHTS(T)                                                       \
  template void fast_weights<T>(const FastWeights<T>&, T*, View<T, 2>, T*, Arena&); \
  template void fast_weights_backward<T>(const FastWeights<T>&, const FastWeightsBackwardArgs<T>&, Arena&);
QUERN_FAST_WEIGHTS(float)
QUERN_FAST_WEIGHTS(double)
#undef QUERN_FAST_WEIGHTS

}  // namespace quern::mixers
