#include "quern/mixers/ovq/ovq_mixer.h"

#include <cmath>

#include "quern/base/config.h"
#include "quern/base/threads.h"
#include "quern/mixers/key_shift.h"
#include "quern/mixers/ovq/head_views.h"
#include "quern/mixers/ranks/attend.h"
#include "quern/mixers/ssm_state.h"
#include "quern/nn/dispatch.h"
#include "quern/nn/ops.h"
#include "quern/nn/registry.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
namespace {

constexpr double kUnitEps = 1e-5;

OvqConfig checked(OvqConfig c) {
  check_heads("ovq", c.width, c.n_head, c.n_head, c.head_dim, 0);
  c.options();
  return c;
}

}  // namespace

OvqOptions OvqConfig::options() const {
  OvqOptions o{.rows = rows,
               .chunk = chunk,
               .growth = ovq_growth(growth),
               .horizon = horizon,
               .spread = spread,
               .count_bias = count_bias,
               .normalize = normalize,
               .delta_values = delta_values};
  check(o, "mixer ovq");
  return o;
}

OvqMixer::OvqMixer(OvqConfig c)
    : c_(checked(std::move(c))),
      o_(c_.options()),
      qkv_([this] {
        std::vector<nn::Linear> l;
        for (int i = 0; i < 3; ++i) l.emplace_back(c_.n_head * c_.head_dim, c_.width, nn::Bias::no);
        return l;
      }()),
      out_(c_.width, c_.n_head * c_.head_dim, nn::Bias::no),
      beta_({c_.n_head}, grad::Init::constant(1)) {
  if (c_.key_shift) mu_ = grad::Parameter({c_.n_head * c_.head_dim}, grad::Init::constant(0));
}

StateSpec OvqMixer::state_spec(DType kv) const {
  const int64_t H = c_.n_head, d = c_.head_dim;
  auto part = [&](const char* name, Shape shape) {
    return StatePart{.name = name,
                     .shape = std::move(shape),
                     .dtype = ssm_state_dtype(kv),
                     .snapshots_inside = true,
                     .shard_axis = 0};
  };
  StateSpec s{{part(kKeys, {H, d, ovq_key_stride(o_.rows)}),
               part(kValues, {H, o_.rows, d}),
               part(kCounts, {H, o_.rows}),
               part(kChunkKeys, {H, d, ovq_key_stride(o_.chunk)}),
               part(kChunkValues, {H, o_.chunk, d}),
               {.name = kMarks, .shape = {2}, .dtype = DType::i64, .snapshots_inside = true}}};
  if (c_.key_shift) s.parts.push_back(key_shift_part(H * d, kv));
  return s;
}

void OvqMixer::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  const char* names[] = {"q_proj", "k_proj", "v_proj"};
  for (size_t i = 0; i < 3; ++i) qkv_.part(i).visit(prefix + names[i], v);
  v(prefix + "beta", beta_);
  if (c_.key_shift) v(prefix + "key_shift", mu_);
  out_.visit(prefix + "o_proj", v);
}

void OvqMixer::pack(const nn::WeightPrepacking& t) {
  qkv_.pack(t);
  out_.pack(t);
}

void OvqMixer::set_rows(int64_t rows) {
  OvqConfig c = c_;
  c.rows = rows;
  o_ = c.options();
  c_ = c;
}

double OvqMixer::scale(int64_t h) const { return beta_.value.item(h) * std::sqrt(static_cast<double>(c_.head_dim)); }

// Every head of every segment; `into` gets what is remembered at the end.
template <class T>
void OvqMixer::run(const RunTensors& in, const Batch& b, int site, SequenceState* into) {
  const int64_t H = c_.n_head, d = c_.head_dim, S = b.segments();
  const DType dtype = in.q.dtype();
  SsmStates<T, 3> keys(b, site, kKeys, dtype), values(b, site, kValues, dtype),
      chunk_keys(b, site, kChunkKeys, dtype), chunk_values(b, site, kChunkValues, dtype);
  SsmStates<T, 2> counts(b, site, kCounts, dtype);
  std::vector<int64_t> marks(static_cast<size_t>(2 * S), 0);
  parallel_dynamic(S * H, [&](int64_t unit) {
    const int64_t s = unit / H, h = unit % H, begin = b.offsets[s], end = b.offsets[s + 1];
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    OvqOptions o = o_;
    OvqMemory<T> m;
    if (b.states.empty()) {
      std::span<T> room = scratch.take<T>(OvqMemory<T>::elements(o, d, d));
      std::fill(room.begin(), room.end(), T(0));
      m = OvqMemory<T>::in(room.data(), o, d, d);
    } else {
      const int64_t* had = b.states[s]->fixed(site, kMarks).template data<int64_t>();
      o.rows = counts.views()[s].shape[1];
      m = {keys.views()[s].row(h),
           values.views()[s].row(h),
           counts.views()[s].row(h),
           chunk_keys.views()[s].row(h),
           chunk_values.views()[s].row(h),
           had[0],
           had[1]};
    }
    const OvqTokens<T> x{head_rows<const T>(in.q, begin, end, h), head_rows<const T>(in.k, begin, end, h),
                         head_rows<const T>(in.v, begin, end, h), scale(h)};
    ovq_forward<T>(o, x, m, head_rows<T>(in.out, begin, end, h),
                   {head_span<T>(in.lse, begin, end, h), head_span<int32_t>(in.rows, begin, end, h)}, scratch);
    if (h == 0) marks[static_cast<size_t>(2 * s)] = m.live, marks[static_cast<size_t>(2 * s + 1)] = m.seen;
  });
  for (size_t s = 0; s < b.states.size(); ++s)
    std::copy_n(marks.data() + 2 * s, 2, b.states[s]->fixed(site, kMarks).data<int64_t>());
  if (!into) return;
  keys.snapshot(into), values.snapshot(into), counts.snapshot(into);
  chunk_keys.snapshot(into), chunk_values.snapshot(into);
  into->fixed(site, kMarks).copy_from(b.states[0]->fixed(site, kMarks));
}

template <class T>
grad::Var OvqMixer::core(grad::Tape& tape, const grad::Var& q_THd, const grad::Var& k_THd, const grad::Var& v_THd,
                         const Batch& batch, int site) {
  const trace::Span span(trace::Kind::operation, "OVQ attention");
  const Tensor q = q_THd.value, k = k_THd.value, v = v_THd.value, out = Tensor::empty(q.shape(), q.dtype());
  const std::vector<grad::Var> inputs = {q_THd, k_THd, v_THd, tape.param(beta_)};
  const bool keep = tape.needs(inputs);
  QUERN_CHECK(!keep || batch.states.empty(), "training reads whole segments, not states");
  const int64_t H = c_.n_head, d = c_.head_dim;
  Tensor lse, rows;
  if (keep) lse = Tensor::empty({H, q.dim(0)}, q.dtype()), rows = Tensor::zeros({H, q.dim(0)}, DType::i32);
  between_snapshots(batch, [&](int64_t row, int64_t n, const Batch& b, SequenceState* into) {
    run<T>({.q = q.narrow(0, row, n),
            .k = k.narrow(0, row, n),
            .v = v.narrow(0, row, n),
            .out = out.narrow(0, row, n),
            .lse = lse,
            .rows = rows},
           b, site, into);
  });
  return tape.record(
      out, inputs, [this, q, k, v, out, lse, rows, H, d, o = o_, offsets = batch.offsets](grad::Grads& g) {
        const Tensor gout = g.out(), gq = Tensor::empty(q.shape(), q.dtype()),
                     gk = Tensor::empty(k.shape(), k.dtype()), gv = Tensor::empty(v.shape(), v.dtype());
        const int64_t S = static_cast<int64_t>(offsets.size()) - 1;
        std::vector<double> gscale(static_cast<size_t>(S * H), 0.0);
        parallel_dynamic(S * H, [&](int64_t unit) {
          const int64_t s = unit / H, h = unit % H, begin = offsets[s], end = offsets[s + 1];
          const OvqTokens<T> x{head_rows<const T>(q, begin, end, h), head_rows<const T>(k, begin, end, h),
                               head_rows<const T>(v, begin, end, h), scale(h)};
          gscale[static_cast<size_t>(unit)] =
              ovq_backward<T>(o, x,
                              {.out = head_rows<const T>(out, begin, end, h),
                               .kept = {head_span<T>(lse, begin, end, h), head_span<int32_t>(rows, begin, end, h)},
                               .gout = head_rows<const T>(gout, begin, end, h),
                               .gq = head_rows<T>(gq, begin, end, h),
                               .gk = head_rows<T>(gk, begin, end, h),
                               .gv = head_rows<T>(gv, begin, end, h)},
                              thread_arena());
        });
        g.add(0, gq);
        g.add(1, gk);
        g.add(2, gv);
        if (!g.wants(3)) return;
        const auto gbeta = g.accumulator(3).template view<T, 1>();
        for (int64_t s = 0; s < S; ++s)
          for (int64_t h = 0; h < H; ++h)
            gbeta(h) += static_cast<T>(std::sqrt(static_cast<double>(d)) * gscale[static_cast<size_t>(s * H + h)]);
      });
}

grad::Var OvqMixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  batch.placement.require_whole_segments("ovq");
  const int64_t T = x_TD.dim(0), H = c_.n_head, d = c_.head_dim;
  std::vector<grad::Var> p = qkv_.forward(tape, x_TD, {1, 1, 1});
  if (c_.key_shift) p[1] = key_shift(tape, p[1], mu_, batch, site);
  auto heads = [&](const grad::Var& x) { return nn::reshape(tape, grad::Var(x), {T, H, d}); };
  auto unit = [&](const grad::Var& x) { return nn::l2_norm(tape, heads(x), nullptr, 1, kUnitEps); };
  const grad::Var q = unit(p[0]), k = unit(p[1]), v = heads(p[2]);
  grad::Var y = nn::with_float(q.dtype(), [&]<class E>() { return core<E>(tape, q, k, v, batch, site); });
  return nn::linear(tape, nn::reshape(tape, y, {T, H * d}), out_);
}

void register_ovq(nn::Registry& r) {
  r.mixers.add("ovq", [](const Json& j) -> std::unique_ptr<Mixer> {
    OvqConfig c;
    from_json(j, c, "mixer ovq", UnknownKeys::refuse);
    return std::make_unique<OvqMixer>(c);
  });
}

}  // namespace quern::mixers
