// Mixture of experts by matrix products: expert after expert, its tokens are gathered into adjacent rows, multiplied
// by two products on all cores, and combined afterwards in slot order. Only one expert's inputs are gathered at a
// time, so scratch is n·D for the outputs and a few rows for the busiest expert. During decoding, when an expert has a
// row or two and waiting would cost more than gathering, all prepacked experts run together instead: one gather, one
// product with every gate and up, one with every down. Backward per expert, with a = act(gate)⊙up:  g_o = p·gy, gWd +=
// g_oᵀ·a,  g_a = g_o·Wd,  g_gu by the gate's slope, gWgu += g_guᵀ·x,  g_x = g_gu·Wgu; gp = gy·o. Cost: 6·n·D·F flops
// forward, 12·n·D·F backward.
#include "quern/kernels/moe/moe_fast.h"

#include "quern/base/error.h"
#include "quern/kernels/dispatch.h"
#include "quern/kernels/moe/moe_ref.h"

namespace quern::kernels {
namespace {

struct Rows {
  int64_t begin, n;
};

template <class F>
void each_expert(const MoePlan& plan, F&& f) {  // f(expert, rows), experts without tokens left out
  for (size_t e = 0; e + 1 < plan.offsets.size(); ++e)
    if (plan.offsets[e + 1] > plan.offsets[e])
      f(static_cast<int64_t>(e), Rows{plan.offsets[e], plan.offsets[e + 1] - plan.offsets[e]});
}

int64_t busiest(const MoePlan& plan) {
  int64_t maximum = 0;
  each_expert(plan, [&](int64_t, Rows r) { maximum = std::max(maximum, r.n); });
  return maximum;
}

View<float, 2> take_rows(int64_t rows, int64_t width, Arena& scratch) {
  return {scratch.take<float>(rows * width).data(), {rows, width}};
}

View<const float, 2> gather(View<const float, 2> x, const MoePlan& plan, Rows r, View<float, 2> buffer) {
  View<float, 2> out = buffer.slice(0, r.n);
  parallel_for(r.n, grain_rows(x.shape[1]), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::copy_n(x.row(plan.token[static_cast<size_t>(r.begin + i)]), x.shape[1], out.row(i));
  });
  return out;
}

// y_t = Σ_s p[t,s]·rows[row_of(t, s)], in slot order; without p every factor is 1.
void combine(View<const float, 2> rows, std::span<const int32_t> row_of, View<const float, 2> p, int64_t slots,
             View<float, 2> y) {
  parallel_for(y.shape[0], grain_rows(y.shape[1]), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* out = y.row(t);
      std::fill_n(out, y.shape[1], 0.0f);
      for (int64_t s = 0; s < slots; ++s) {
        const int32_t r = row_of[static_cast<size_t>(t * slots + s)];
        if (r < 0) continue;
        const float* src = rows.row(r);
        const float scale = p ? p(t, s) : 1;
#pragma omp simd
        for (int64_t c = 0; c < y.shape[1]; ++c) out[c] += scale * src[c];
      }
    }
  });
}

constexpr int64_t kTogetherRows = 256;  // of all experts: gate, up and their product stay in the second-level cache

void together(const MoePacked& a, const MoePlan& plan, View<float, 2> out, Arena& scratch) {
  if (plan.n == 0) return;
  const std::span<PrepackedWeight::Group> groups = scratch.take<PrepackedWeight::Group>(std::ssize(a.gate_up));
  auto of = [&](std::span<const PrepackedWeight> w) {
    size_t n = 0;
    each_expert(plan, [&](int64_t e, Rows r) { groups[n++] = {&w[static_cast<size_t>(e)], r.begin, r.begin + r.n}; });
    return groups.first(n);
  };
  View<float, 2> xe = take_rows(plan.n, a.x.shape[1], scratch), h = take_rows(plan.n, a.down[0].k(), scratch);
  View<float, 2> gu = a.saved_gate_up ? a.saved_gate_up : take_rows(plan.n, a.gate_up[0].n(), scratch);
  PrepackedWeight::apply_groups(of(a.gate_up), gather(a.x, plan, {0, plan.n}, xe), gu, scratch);
  gated<float>(a.act, gu, h);
  PrepackedWeight::apply_groups(of(a.down), h, out, scratch);
}

// g_o = p·gy for an expert's rows, and gp[row] = gy·o.
template <class Backward>
void gather_gradient(const Backward& a, const MoePlan& plan, Rows r, View<float, 2> g_out, float* gp) {
  const int64_t d = a.gy.shape[1];
  parallel_for(r.n, grain_rows(d), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const size_t row = static_cast<size_t>(r.begin + i);
      const float *gy = a.gy.row(plan.token[row]), *o = a.saved_out.row(r.begin + i);
      const float scale = a.p(plan.token[row], plan.slot[row]);
      float *dst = g_out.row(i), dot = 0;
#pragma omp simd reduction(+ : dot)
      for (int64_t c = 0; c < d; ++c) {
        dst[c] = scale * gy[c];
        dot += gy[c] * o[c];
      }
      gp[row] = dot;
    }
  });
}

// What is the same whether experts learn or not. through_down(e, gate_up, g_o, g_a) multiplies by Wd and
// through_gate_up(e, rows, g_gu, g_x) by Wgu.
template <class Backward, class Down, class GateUp>
void backward_by_expert(const Backward& a, int64_t f, const MoePlan& plan, Arena& scratch, Down&& through_down,
                        GateUp&& through_gate_up) {
  const int64_t d = a.gy.shape[1], maximum = busiest(plan), slots = a.p.shape[1];
  Arena::Scope scope(scratch);
  View<float, 2> g_rows = take_rows(plan.n, d, scratch), g_out = take_rows(maximum, d, scratch);
  View<float, 2> g_act = take_rows(maximum, f, scratch), g_gate_up = take_rows(maximum, 2 * f, scratch);
  std::span<float> gp = scratch.take<float>(plan.n);
  each_expert(plan, [&](int64_t e, Rows r) {
    const View<float, 2> go = g_out.slice(0, r.n), gh = g_act.slice(0, r.n), ggu = g_gate_up.slice(0, r.n);
    const View<const float, 2> gate_up = a.saved_gate_up.slice(r.begin, r.begin + r.n);
    gather_gradient(a, plan, r, go, gp.data());
    through_down(e, gate_up, go, gh);
    gated_backward<float>(a.act, gate_up, gh, ggu);
    through_gate_up(e, r, ggu, g_rows.slice(r.begin, r.begin + r.n));
  });
  const std::span<int32_t> row_of = moe_row_of(plan, a.gy.shape[0], slots, scratch);
  combine(g_rows, row_of, {}, slots, a.gx);
  for (int64_t t = 0; t < a.gp.shape[0]; ++t)
    for (int64_t s = 0; s < slots; ++s) {
      const int32_t r = row_of[static_cast<size_t>(t * slots + s)];
      a.gp(t, s) = r < 0 ? 0 : gp[static_cast<size_t>(r)];
    }
}

}  // namespace

void grouped_gemm_fast(View<const float, 2> x, View<const float, 3> w, const MoePlan& plan, View<float, 2> y) {
  each_expert(plan, [&](int64_t e, Rows r) {
    gemm<float>(x.slice(r.begin, r.begin + r.n), w[e], y.slice(r.begin, r.begin + r.n), {.trans_b = true});
  });
}

void moe_ffn_fast(const MoeForward<float>& a, const MoePlan& plan, Arena& scratch) {
  const int64_t d = a.x.shape[1], f = a.down.shape[2], maximum = busiest(plan), slots = a.p.shape[1];
  Arena::Scope scope(scratch);
  View<float, 2> out = a.saved_out ? a.saved_out : take_rows(plan.n, d, scratch);
  View<float, 2> xe = take_rows(maximum, d, scratch), act = take_rows(maximum, f, scratch);
  View<float, 2> gu_buffer = a.saved_gate_up ? View<float, 2>{} : take_rows(maximum, 2 * f, scratch);
  each_expert(plan, [&](int64_t e, Rows r) {
    const int64_t end = r.begin + r.n;
    View<float, 2> gate_up = a.saved_gate_up ? a.saved_gate_up.slice(r.begin, end) : gu_buffer.slice(0, r.n);
    gemm<float>(gather(a.x, plan, r, xe), a.gate_up[e], gate_up, {.trans_b = true, .bf16 = a.bf16});
    gated<float>(a.act, gate_up, act.slice(0, r.n));
    gemm<float>(act.slice(0, r.n), a.down[e], out.slice(r.begin, end), {.trans_b = true, .bf16 = a.bf16});
  });
  combine(out, moe_row_of(plan, a.x.shape[0], slots, scratch), a.p, slots, a.y);
}

void moe_ffn_backward_fast(const MoeBackward<float>& a, const MoePlan& plan, Arena& scratch) {
  const int64_t d = a.x.shape[1], f = a.down.shape[2], maximum = busiest(plan);
  Arena::Scope scope(scratch);
  View<float, 2> xe = take_rows(maximum, d, scratch), act = take_rows(maximum, f, scratch);
  backward_by_expert(
      a, f, plan, scratch,
      [&](int64_t e, View<const float, 2> gate_up, View<float, 2> go, View<float, 2> gh) {
        if (a.g_down) {
          const View<float, 2> h = act.slice(0, go.shape[0]);
          gated<float>(a.act, gate_up, h);
          gemm<float>(go, h, a.g_down[e], {.trans_a = true, .beta = 1, .bf16 = a.bf16});
        }
        gemm<float>(go, a.down[e], gh, {.bf16 = a.bf16});
      },
      [&](int64_t e, Rows r, View<float, 2> ggu, View<float, 2> gx) {
        if (a.g_gate_up)
          gemm<float>(ggu, gather(a.x, plan, r, xe), a.g_gate_up[e], {.trans_a = true, .beta = 1, .bf16 = a.bf16});
        gemm<float>(ggu, a.gate_up[e], gx, {.bf16 = a.bf16});
      });
}

void moe_ffn_packed(const MoePacked& a, const MoePlan& plan, Arena& scratch) {
  const int64_t d = a.x.shape[1], slots = a.p.shape[1];
  QUERN_CHECK(a.x.shape == a.y.shape && a.p.shape[0] == a.x.shape[0] && a.gate_up.size() == a.down.size() &&
                  plan.offsets.size() == a.gate_up.size() + 1,
              "x [{}, {}], {} and {} experts, plan of {}", a.x.shape[0], d, a.gate_up.size(), a.down.size(),
              plan.offsets.size() - 1);
  Arena::Scope scope(scratch);
  View<float, 2> out = a.saved_out ? a.saved_out : take_rows(plan.n, d, scratch);
  if (plan.n <= kTogetherRows) {
    together(a, plan, out, scratch);
    return combine(out, moe_row_of(plan, a.x.shape[0], slots, scratch), a.p, slots, a.y);
  }
  each_expert(plan, [&](int64_t e, Rows r) {
    const PrepackedWeight &first = a.gate_up[static_cast<size_t>(e)], &second = a.down[static_cast<size_t>(e)];
    Arena::Scope expert(scratch);
    View<float, 2> h = take_rows(r.n, second.k(), scratch);
    View<float, 2> gu =
        a.saved_gate_up ? a.saved_gate_up.slice(r.begin, r.begin + r.n) : take_rows(r.n, first.n(), scratch);
    first.apply(gather(a.x, plan, r, take_rows(r.n, d, scratch)), {}, gu, scratch);
    gated<float>(a.act, gu, h);
    second.apply(h, {}, out.slice(r.begin, r.begin + r.n), scratch);
  });
  combine(out, moe_row_of(plan, a.x.shape[0], slots, scratch), a.p, slots, a.y);
}

void moe_ffn_packed_backward(const MoePackedBackward& a, const MoePlan& plan, Arena& scratch) {
  QUERN_CHECK(a.gx.shape == a.gy.shape && a.p.shape == a.gp.shape && a.saved_gate_up.shape[0] == plan.n &&
              a.saved_out.shape[0] == plan.n && plan.offsets.size() == a.down.size() + 1);
  const auto through = [&](const PrepackedWeight& w, View<const float, 2> g, View<float, 2> out) {
    w.apply_transposed(g, 0, out, {.bf16 = a.bf16}, scratch);
  };
  backward_by_expert(
      a, a.saved_gate_up.shape[1] / 2, plan, scratch,
      [&](int64_t e, View<const float, 2>, View<float, 2> go, View<float, 2> gh) {
        through(a.down[static_cast<size_t>(e)], go, gh);
      },
      [&](int64_t e, Rows, View<float, 2> ggu, View<float, 2> gx) {
        through(a.gate_up[static_cast<size_t>(e)], ggu, gx);
      });
}

}  // namespace quern::kernels
