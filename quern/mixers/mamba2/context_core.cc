// Mamba-2 between its projections under context parallelism (mixers/ranks/context_parallel.h):
//   convolution  on rows with a halo of the taps − 1 rows before each segment
//   SSD          of every segment from a zero state. N extra rows at its end read out the last state Z: their Δ is 0,
//                so the state does not change, x = 0 and C = eₙ, so y is row n of Z; the gradient that backward
//                assigns to them is the gradient of Z
//   states       a chunk c turns the state that enters it into S(c+1) = A(c)·S(c) + Z(c), A = e^(Σ a) over the chunk
//                if it is one segment that continues, 0 if a document begins in it. All (A, Z) go to all ranks, each
//                runs the recurrence; the entering state adds y_t += e^(s_t)·Cₜᵀ·S(c), s_t = a summed up to t
//   backward     G(c) = Σ_t e^(s_t)·Cₜ·gyₜᵀ + A(c)·G(c+1), in reverse; G(c+1) is the gradient of Z(c)
// Shapes: n local rows, H heads of P, I = H·P, N states, S segments, 2 chunks per rank. A rank sends 2·H·(N·P + 1)
// numbers forward and 2·H·N·P backward, whatever the length.
#include <algorithm>
#include <cmath>
#include <limits>

#include "quern/base/threads.h"
#include "quern/kernels/gemm/gemm.h"
#include "quern/kernels/ssm/causal_conv.h"
#include "quern/kernels/ssm/gated_norm.h"
#include "quern/mixers/mamba2/mamba2_mixer.h"
#include "quern/mixers/ranks/prompt_shards.h"
#include "quern/mixers/ssm_state.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
namespace {

constexpr double kNoStep = -1e30;  // softplus of it is 0
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

template <class T>
View<T, 1> wanted(grad::Grads& g, int i) {
  return g.wants(i) ? g.accumulator(i).view<T, 1>() : View<T, 1>();
}

template <class T>
grad::Var convolved(grad::Tape& tape, const grad::Var& x, grad::Parameter& w, grad::Parameter& b,
                    std::vector<int32_t> offsets) {
  std::vector<grad::Var> in = {x, tape.param(w)};
  if (b.defined()) in.push_back(tape.param(b));
  const Tensor rows = x.value, taps = taps_outermost(w.value);
  auto inputs = [rows, taps, bias = b.value, offsets] {
    return kernels::CausalConvInputs<T>{rows.view<const T, 2>(), taps.view<const T, 2>(),
                                        bias.defined() ? bias.view<const T, 1>() : View<const T, 1>(), offsets};
  };
  Tensor y = Tensor::empty(rows.shape(), rows.dtype());
  kernels::causal_conv_silu<T>(inputs(), {}, y.view<T, 2>());
  return tape.record(y, in, [inputs, rows, taps](grad::Grads& g) {
    Tensor gx = Tensor::empty(rows.shape(), rows.dtype()), gtaps = Tensor::zeros(taps.shape(), taps.dtype());
    const Tensor gy = g.out().contiguous_copy_if_needed();
    const auto in = inputs();
    kernels::causal_conv_silu_backward<T>(in, gy.view<const T, 2>(), gx.view<T, 2>(), gtaps.view<T, 2>(),
                                          in.b.data ? wanted<T>(g, 2) : View<T, 1>(), thread_arena());
    g.add(0, gx);
    if (g.wants(1)) g.add(1, taps_innermost(gtaps));
  });
}

// Of the rows of a rank, each segment behind what lies before it, wherever that is.
template <class T>
grad::Var convolved_rows(grad::Tape& tape, const ContextParallel& context, const grad::Var& x, grad::Parameter& w,
                         grad::Parameter& b, int64_t halo) {
  return context.narrow(
      tape, convolved<T>(tape, context.with_halo(tape, x, halo), w, b, context.with_halo_batch(halo).offsets), halo);
}

// Rows of x, and behind every segment N more.
Tensor with_readers(const Tensor& x, std::span<const int32_t> offsets, int64_t N, double fill) {
  const int64_t S = static_cast<int64_t>(offsets.size()) - 1;
  Tensor out = Tensor::full({x.dim(0) + S * N, x.dim(1)}, x.dtype(), fill);
  for (int64_t s = 0; s < S; ++s)
    if (const int64_t n = offsets[s + 1] - offsets[s]; n > 0)
      out.narrow(0, offsets[s] + s * N, n).copy_from(x.narrow(0, offsets[s], n));
  return out;
}

// The reverse: the rows, and [S, N, columns] of the readers.
Tensor rows_only(const Tensor& x, std::span<const int32_t> offsets, int64_t N) {
  Tensor out = Tensor::empty({offsets.back(), x.dim(1)}, x.dtype());
  for (size_t s = 0; s + 1 < offsets.size(); ++s)
    if (const int64_t n = offsets[s + 1] - offsets[s]; n > 0)
      out.narrow(0, offsets[s], n).copy_from(x.narrow(0, offsets[s] + static_cast<int64_t>(s) * N, n));
  return out;
}

}  // namespace

// Carries states from chunk to chunk. All in T but the sums of a, which are double.
template <class T>
struct Mamba2Mixer::Carry {
  const ContextParallel& context;
  Mamba2Config c;
  std::vector<int32_t> offsets;
  Tensor xbc, dt, a_log, bias;      // rows of C, steps, and what turns steps into decays
  std::vector<double> a, s;         // [n, H]: a_t, and summed from its segment's first row
  Tensor decay, entering, readout;  // [2P, H] A of all chunks; [2P + 1, N, I] S of all, and what leaves the last;
                                    // [2, N, I] Z of this rank's

  struct Chunk {
    int64_t index;                // of 2P
    int64_t segment, begin, end;  // its first segment, and rows of that
    int64_t last;                 // its last segment; −1: the chunk is empty
    bool goes_on;                 // its first segment continues one of the chunk before
  };
  std::vector<Chunk> chunks() const {
    const int P = context.comm().size(), r = context.comm().rank();
    std::vector<Chunk> out;
    size_t at = 0;
    const auto& segments = context.segments();
    for (int index : {r, 2 * P - 1 - r}) {
      const comm::Range cut = comm::even_range(context.tokens(), 2 * P, index);
      Chunk k{index, static_cast<int64_t>(at), 0, 0, -1, false};
      if (cut.end > cut.begin) {
        k.begin = offsets[at], k.end = offsets[at + 1], k.goes_on = segments[at].document < segments[at].begin;
        for (; at < segments.size() && segments[at].begin >= cut.begin && segments[at].end <= cut.end; ++at)
          k.last = static_cast<int64_t>(at);
      }
      out.push_back(k);
    }
    return out;
  }

  int64_t states() const { return c.n_state * c.inner(); }
  // Two chunks of every rank, in rank order, as chunks in order.
  Tensor in_order(const Tensor& mine, int64_t width) const {
    const int P = context.comm().size();
    Tensor all = Tensor::empty({2 * P, width}, mine.dtype()), out = Tensor::empty({2 * P, width}, mine.dtype());
    context.comm().all_gather(mine, all);
    for (int r = 0; r < P; ++r) {
      out.narrow(0, r, 1).copy_from(all.narrow(0, 2 * r, 1));
      out.narrow(0, 2 * P - 1 - r, 1).copy_from(all.narrow(0, 2 * r + 1, 1));
    }
    return out;
  }

  void sum_steps() {
    const int64_t H = c.n_head;
    a.assign(static_cast<size_t>(dt.dim(0) * H), 0), s = a;
    const View<const T, 2> step = dt.view<const T, 2>();
    for (size_t k = 0; k + 1 < offsets.size(); ++k)
      for (int64_t t = offsets[k]; t < offsets[k + 1]; ++t)
        for (int64_t h = 0; h < H; ++h) {
          const double x = step(t, h) + static_cast<double>(bias.data<T>()[h]);
          const double soft = std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
          const double delta = std::clamp(soft, c.dt_min, c.dt_max.value_or(kUnbounded));
          const auto i = static_cast<size_t>(t * H + h);
          a[i] = -std::exp(static_cast<double>(a_log.data<T>()[h])) * delta;
          s[i] = a[i] + (t > offsets[k] ? s[i - static_cast<size_t>(H)] : 0);
        }
  }
  double sum_at(int64_t t, int64_t h) const { return s[static_cast<size_t>(t * c.n_head + h)]; }

  void enter(const Tensor& z) {  // z [S, N, I] → S of every chunk
    const int64_t H = c.n_head, P = c.head_dim, N = c.n_state, all = 2 * context.comm().size();
    Tensor mine_a = Tensor::zeros({2, H}, z.dtype());
    readout = Tensor::zeros({2, states()}, z.dtype());
    const std::vector<Chunk> two = chunks();
    for (int64_t k = 0; k < 2; ++k) {
      const Chunk& chunk = two[static_cast<size_t>(k)];
      if (chunk.last >= 0) readout.narrow(0, k, 1).copy_from(z.narrow(0, chunk.last, 1).reshape({1, states()}));
      for (int64_t h = 0; h < H; ++h)
        mine_a.data<T>()[k * H + h] =
            static_cast<T>(chunk.last < 0                                 ? 1
                           : chunk.goes_on && chunk.last == chunk.segment ? std::exp(sum_at(chunk.end - 1, h))
                                                                          : 0);
    }
    decay = in_order(mine_a, H);
    const Tensor zs = in_order(readout, states());
    entering = Tensor::zeros({all + 1, states()}, z.dtype());
    for (int64_t i = 1; i <= all; ++i)
      for (int64_t n = 0; n < N; ++n)
        for (int64_t h = 0; h < H; ++h)
          for (int64_t p = 0; p < P; ++p) {
            const int64_t at = n * H * P + h * P + p;
            entering.data<T>()[i * states() + at] =
                zs.data<T>()[(i - 1) * states() + at] +
                decay.data<T>()[(i - 1) * H + h] * entering.data<T>()[(i - 1) * states() + at];
          }
  }

  // f(row, head, e^(s_t), row of C's group, state that entered the chunk): where something did.
  template <class F>
  void each_row(F&& f) const {
    const int64_t I = c.inner(), N = c.n_state, GN = c.n_group * N;
    for (const Chunk& chunk : chunks()) {
      if (!chunk.goes_on) continue;
      parallel_for(c.n_head, 1, [&](int64_t first, int64_t last) {
        for (int64_t h = first; h < last; ++h)
          for (int64_t t = chunk.begin; t < chunk.end; ++t)
            f(chunk, t, h, static_cast<T>(std::exp(sum_at(t, h))),
              xbc.data<T>() + t * c.channels() + I + GN + h / (c.n_head / c.n_group) * N,
              entering.data<T>() + chunk.index * states() + h * c.head_dim);
      });
    }
  }

  // A product a head: rows e^(s_t)·Cₜ by the state that entered.
  void add_to(const Tensor& y) const {
    const int64_t I = c.inner(), P = c.head_dim, N = c.n_state, GN = c.n_group * N, per = c.n_head / c.n_group;
    for (const Chunk& chunk : chunks()) {
      if (!chunk.goes_on) continue;
      const int64_t rows = chunk.end - chunk.begin;
      parallel_for(c.n_head, 1, [&](int64_t first, int64_t last) {
        std::vector<T> scaled(static_cast<size_t>(rows * N));
        for (int64_t h = first; h < last; ++h) {
          for (int64_t r = 0; r < rows; ++r) {
            const T e = static_cast<T>(std::exp(sum_at(chunk.begin + r, h)));
            const T* ct = xbc.data<T>() + (chunk.begin + r) * c.channels() + I + GN + h / per * N;
            for (int64_t n = 0; n < N; ++n) scaled[static_cast<size_t>(r * N + n)] = e * ct[n];
          }
          kernels::gemm<T>({scaled.data(), {rows, N}},
                           {entering.data<T>() + chunk.index * states() + h * P, {N, P}, {I, 1}},
                           {y.data<T>() + chunk.begin * I + h * P, {rows, P}, {I, 1}}, {.beta = 1});
        }
      });
    }
  }

  // Inputs: y, z, xbc, dt, a_log, bias.
  void backward(grad::Grads& g) const {
    const int64_t H = c.n_head, I = c.inner(), P = c.head_dim, N = c.n_state, GN = c.n_group * N, per = H / c.n_group,
                  all = 2 * context.comm().size();
    const Tensor gy = g.out().contiguous_copy_if_needed();
    const std::vector<Chunk> two = chunks();
    Tensor direct = Tensor::zeros({2, states()}, gy.dtype()), gxbc = Tensor::zeros(xbc.shape(), gy.dtype());
    std::vector<double> ga(a.size());                           // first what each s_t gets
    std::vector<T> gc(static_cast<size_t>(gy.dim(0) * H * N));  // a head at a time: groups are shared
    each_row([&](const Chunk& chunk, int64_t t, int64_t h, T e, const T* ct, const T* state) {
      const T* out = gy.data<T>() + t * I + h * P;
      T* sum = direct.data<T>() + (chunk.index == two[0].index ? 0 : states()) + h * P;
      double gs = 0;
      for (int64_t n = 0; n < N; ++n) {
        T dot = 0;
        for (int64_t p = 0; p < P; ++p) dot += state[n * I + p] * out[p], sum[n * I + p] += e * ct[n] * out[p];
        gc[static_cast<size_t>((t * H + h) * N + n)] = e * dot;
        gs += static_cast<double>(e) * ct[n] * dot;
      }
      ga[static_cast<size_t>(t * H + h)] = gs;
    });
    for (int64_t t = 0; t < gy.dim(0); ++t)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t n = 0; n < N; ++n)
          gxbc.data<T>()[t * c.channels() + I + GN + h / per * N + n] += gc[static_cast<size_t>((t * H + h) * N + n)];
    const Tensor directs = in_order(direct, states());
    Tensor leaving = Tensor::zeros({all + 1, states()}, gy.dtype());  // G: of what enters chunk i
    for (int64_t i = all - 1; i >= 0; --i)
      for (int64_t at = 0; at < states(); ++at)
        leaving.data<T>()[i * states() + at] =
            directs.data<T>()[i * states() + at] +
            decay.data<T>()[i * H + at % I / P] * leaving.data<T>()[(i + 1) * states() + at];
    Tensor gz = Tensor::zeros({static_cast<int64_t>(offsets.size()) - 1, N, I}, gy.dtype()),
           gdt = Tensor::zeros({gy.dim(0), H}, gy.dtype()), ga_log = Tensor::zeros({H}, gy.dtype()),
           gbias = Tensor::zeros({H}, gy.dtype());
    for (const Chunk& chunk : two) {
      if (chunk.last < 0) continue;
      const T* after = leaving.data<T>() + (chunk.index + 1) * states();
      std::copy(after, after + states(), gz.data<T>() + chunk.last * states());
      if (!chunk.goes_on) continue;
      for (int64_t h = 0; h < H; ++h) {
        double sum = 0;  // over rows from the last on
        if (chunk.last == chunk.segment)
          for (int64_t n = 0; n < N; ++n)
            for (int64_t p = 0; p < P; ++p)
              sum += static_cast<double>(after[n * I + h * P + p]) *
                     entering.data<T>()[chunk.index * states() + n * I + h * P + p];
        sum *= std::exp(sum_at(chunk.end - 1, h));
        const double rate = -std::exp(static_cast<double>(a_log.data<T>()[h]));
        for (int64_t t = chunk.end - 1; t >= chunk.begin; --t) {
          const auto i = static_cast<size_t>(t * H + h);
          sum += ga[i];
          const double x = static_cast<double>(dt.view<const T, 2>()(t, h)) + bias.data<T>()[h];
          const double step = sum * rate / (1 + std::exp(-x));
          gdt.data<T>()[t * H + h] = static_cast<T>(step);
          gbias.data<T>()[h] += static_cast<T>(step), ga_log.data<T>()[h] += static_cast<T>(sum * a[i]);
        }
      }
    }
    g.add(0, gy.clone()), g.add(1, gz), g.add(2, gxbc), g.add(3, gdt), g.add(4, ga_log), g.add(5, gbias);
  }
};

// SSD of every segment from a zero state: its outputs [n, I], and its last states [S, N, I].
template <class T>
std::vector<grad::Var> Mamba2Mixer::scan_segments(grad::Tape& tape, const SegmentInputs& in,
                                                  const std::vector<int32_t>& offsets) {
  const int64_t I = c_.inner(), C = c_.channels(), N = c_.n_state, GN = c_.n_group * N;
  const auto S = static_cast<int64_t>(offsets.size()) - 1;
  std::vector<int32_t> wide(offsets);
  for (size_t s = 0; s < wide.size(); ++s) wide[s] += static_cast<int32_t>(static_cast<int64_t>(s) * N);
  const Tensor rows = with_readers(in.xbc.value, offsets, N, 0),
               steps = with_readers(in.dt.value, offsets, N, kNoStep);
  for (int64_t s = 0; s < S; ++s)
    for (int64_t n = 0; n < N; ++n)
      for (int64_t group = 0; group < c_.n_group; ++group)
        rows.data<T>()[(wide[static_cast<size_t>(s) + 1] - N + n) * C + I + GN + group * N + n] = 1;
  auto inputs = [this, rows, steps, wide, I, GN] {
    kernels::SsdInputs<T> ssd;
    ssd.x = rows.narrow(1, 0, I).view<const T, 2>(), ssd.b = rows.narrow(1, I, GN).view<const T, 2>();
    ssd.c = rows.narrow(1, I + GN, GN).view<const T, 2>(), ssd.dt = steps.view<const T, 2>();
    ssd.a_log = a_log_.value.view<const T, 1>(), ssd.d = d_.value.view<const T, 1>();
    ssd.bias = dt_bias_.value.view<const T, 1>(), ssd.n_group = c_.n_group, ssd.offsets = wide;
    return ssd;
  };
  const Tensor y_wide = Tensor::empty({rows.dim(0), I}, rows.dtype());
  kernels::ssd<T>(inputs(), {}, y_wide.view<T, 2>(), thread_arena());
  Tensor z = Tensor::empty({S, N, I}, rows.dtype());
  for (int64_t s = 0; s < S; ++s)
    z.narrow(0, s, 1).copy_from(y_wide.narrow(0, wide[static_cast<size_t>(s) + 1] - N, N).reshape({1, N, I}));
  return tape.record_many(
      {rows_only(y_wide, offsets, N), z}, {in.xbc, in.dt, in.a_log, in.skip, in.bias},
      [inputs, rows, steps, offsets, wide, I, GN, N, S](grad::Grads& g) {
        const Tensor gy = with_readers(g.out(0), offsets, N, 0);
        for (int64_t s = 0; s < S; ++s)
          gy.narrow(0, wide[static_cast<size_t>(s) + 1] - N, N).copy_from(g.out(1).narrow(0, s, 1).reshape({N, I}));
        const Tensor grows = Tensor::empty(rows.shape(), rows.dtype()),
                     gsteps = Tensor::empty(steps.shape(), rows.dtype());
        kernels::ssd_backward<T>(inputs(), gy.view<const T, 2>(),
                                 {grows.narrow(1, 0, I).view<T, 2>(), grows.narrow(1, I, GN).view<T, 2>(),
                                  grows.narrow(1, I + GN, GN).view<T, 2>(), gsteps.view<T, 2>(), wanted<T>(g, 2),
                                  wanted<T>(g, 3), wanted<T>(g, 4)},
                                 thread_arena());
        g.add(0, rows_only(grows, offsets, N));
        g.add(1, rows_only(gsteps, offsets, N));
      });
}

template <class T>
grad::Var Mamba2Mixer::context_norm(grad::Tape& tape, const grad::Var& y_TI, const grad::Var& gate_v) {
  const Tensor y = y_TI.value;
  const grad::Var norm = tape.param(norm_w_);
  const Tensor gate = gate_v.value, out = Tensor::empty(y.shape(), y.dtype());
  kernels::gated_rms_norm<T>(y.view<const T, 2>(), gate.view<const T, 2>(), norm_w_.value.view<const T, 1>(),
                             c_.n_group, c_.norm_eps, out.view<T, 2>());
  return tape.record(out, {y_TI, gate_v, norm}, [this, y, gate](grad::Grads& g) {
    const Tensor gy = Tensor::empty(y.shape(), y.dtype()), gz = Tensor::empty(y.shape(), y.dtype());
    kernels::gated_rms_norm_backward<T>({.y = y.view<const T, 2>(),
                                         .z = gate.view<const T, 2>(),
                                         .w = norm_w_.value.view<const T, 1>(),
                                         .groups = c_.n_group,
                                         .eps = c_.norm_eps,
                                         .g_out = g.out().view<const T, 2>(),
                                         .gy = gy.view<T, 2>(),
                                         .gz = gz.view<T, 2>(),
                                         .gw = wanted<T>(g, 2)});
    g.add(0, gy), g.add(1, gz);
  });
}

template <class T>
grad::Var Mamba2Mixer::context_rows(grad::Tape& tape, const grad::Var& p_TW, const Batch& b) {
  const ContextParallel& context = *b.placement.context_parallel();
  const int64_t I = c_.inner(), C = c_.channels(), H = c_.n_head, halo = c_.taps - 1;
  grad::Var xbc = nn::slice_columns(tape, p_TW, I, C), dt = nn::slice_columns(tape, p_TW, I + C, H);
  xbc = convolved_rows<T>(tape, context, xbc, conv_w_, conv_b_, halo);

  const grad::Var a_log = tape.param(a_log_), bias = tape.param(dt_bias_), skip = tape.param(d_);
  const std::vector<grad::Var> yz =
      scan_segments<T>(tape, {.xbc = xbc, .dt = dt, .a_log = a_log, .skip = skip, .bias = bias}, b.offsets);
  auto carry = std::make_shared<Carry<T>>(
      Carry<T>{context, c_, b.offsets, xbc.value, dt.value, a_log_.value, dt_bias_.value, {}, {}, {}, {}, {}});
  carry->sum_steps();
  carry->enter(yz[1].value);
  const Tensor y = yz[0].value.clone();
  carry->add_to(y);
  grad::Var y_TI =
      tape.record(y, {yz[0], yz[1], xbc, dt, a_log, bias}, [carry](grad::Grads& g) { carry->backward(g); });
  return c_.norm ? context_norm<T>(tape, y_TI, nn::slice_columns(tape, p_TW, 0, I)) : gated(tape, y_TI, p_TW);
}

// The same of a prompt, without a gradient: the kernel hands out the last states, and Δ may be bounded.
template <class T>
grad::Var Mamba2Mixer::prompt_rows(grad::Tape& tape, const grad::Var& p_TW, const Batch& b, int site) {
  const PromptShards& prompt = *b.placement.prompt_shards();
  const ContextParallel& context = prompt.rows();
  const int64_t I = c_.inner(), C = c_.channels(), H = c_.n_head, N = c_.n_state, P = c_.head_dim, halo = c_.taps - 1;
  const Tensor p = p_TW.value;
  prompt.keep_tail(site, kConvTail, p.narrow(1, I, C));
  const Tensor xbc = convolved_rows<T>(tape, context, p.narrow(1, I, C), conv_w_, conv_b_, halo).value;
  const Tensor y = Tensor::empty({p.dim(0), I}, p.dtype()), z = Tensor::empty({b.segments(), N, I}, p.dtype()),
               last = Tensor::zeros({b.segments(), H, N, P}, p.dtype());
  std::vector<View<T, 3>> states;
  for (int64_t s = 0; s < b.segments(); ++s)
    states.push_back(last.narrow(0, s, 1).reshape({H, N, P}).template view<T, 3>());
  kernels::ssd<T>(ssd_inputs<T>(p, xbc, b.offsets), states, y.view<T, 2>(), thread_arena());
  for (int64_t s = 0; s < b.segments(); ++s)
    for (int64_t h = 0; h < H; ++h)
      z.narrow(0, s, 1).narrow(2, h * P, P).copy_from(last.narrow(0, s, 1).narrow(1, h, 1).reshape({1, N, P}));
  Carry<T> carry{context, c_, b.offsets, xbc, p.narrow(1, I + C, H), a_log_.value, dt_bias_.value, {},
                 {},      {}, {},        {}};
  carry.sum_steps();
  carry.enter(z);
  carry.add_to(y);
  const Tensor end = carry.entering.narrow(0, 2 * context.comm().size(), 1).reshape({N, I});
  Tensor kept = prompt.state().fixed(site, kSsm);
  for (int64_t h = 0; h < H; ++h) kept.narrow(0, h, 1).reshape({N, P}).copy_from(end.narrow(1, h * P, P));
  return c_.norm ? context_norm<T>(tape, y, p.narrow(1, 0, I)) : gated(tape, y, p_TW);
}

grad::Var Mamba2Mixer::context_core(grad::Tape& tape, const grad::Var& p_TW, const Batch& b, int site) {
  const trace::Span span(trace::Kind::operation, "Mamba-2 convolution and scan");
  if (b.placement.prompt_shards())
    return nn::with_float(p_TW.dtype(), [&]<class T>() { return prompt_rows<T>(tape, p_TW, b, site); });
  if (c_.dt_min > 0 || c_.dt_max)
    fail("mamba2: context parallelism (parallel.context) is not supported with a bounded time step (dt_min, dt_max)");
  return nn::with_float(p_TW.dtype(), [&]<class T>() { return context_rows<T>(tape, p_TW, b); });
}

}  // namespace quern::mixers
