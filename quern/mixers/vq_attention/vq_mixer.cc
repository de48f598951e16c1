#include "quern/mixers/vq_attention/vq_mixer.h"

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

VqAttentionConfig checked(VqAttentionConfig c) {
  check_heads("vq_attention", c.width, c.n_head, c.n_head, c.head_dim, 0);
  if (c.codes < 1 || c.codes > 1 << 20) fail("vq_attention: codes {} is outside 1 … {}", c.codes, 1 << 20);
  if (c.chunk < 1 || c.chunk > 1 << 20) fail("vq_attention: chunk {} is outside 1 … {}", c.chunk, 1 << 20);
  if (!(c.commit >= 0)) fail("vq_attention: commit {}, expected 0 or more", c.commit);
  return c;
}

}  // namespace

VqAttentionMixer::VqAttentionMixer(VqAttentionConfig c)
    : c_(checked(c)),
      o_{.codes = c_.codes, .chunk = c_.chunk, .commit = c_.commit},
      qkv_([this] {
        std::vector<nn::Linear> l;
        for (int i = 0; i < 3; ++i) l.emplace_back(c_.n_head * c_.head_dim, c_.width, nn::Bias::no);
        return l;
      }()),
      out_(c_.width, c_.n_head * c_.head_dim, nn::Bias::no),
      codes_({c_.n_head, c_.codes, c_.head_dim}, grad::Init::normal(1 / std::sqrt(static_cast<double>(c_.head_dim)))),
      beta_({c_.n_head}, grad::Init::constant(1)) {
  if (c_.key_shift) mu_ = grad::Parameter({c_.n_head * c_.head_dim}, grad::Init::constant(0));
}

StateSpec VqAttentionMixer::state_spec(DType kv) const {
  const int64_t H = c_.n_head, d = c_.head_dim;
  auto part = [&](const char* name, Shape shape) {
    return StatePart{.name = name,
                     .shape = std::move(shape),
                     .dtype = ssm_state_dtype(kv),
                     .snapshots_inside = true,
                     .shard_axis = 0};
  };
  StateSpec s{{part(kValues, {H, c_.codes, d}),
               part(kCounts, {H, c_.codes}),
               part(kChunkKeys, {H, d, ovq_key_stride(c_.chunk)}),
               part(kChunkValues, {H, c_.chunk, d}),
               part(kChunkCodes, {H, c_.chunk}),
               {.name = kSeen, .shape = {1}, .dtype = DType::i64, .snapshots_inside = true}}};
  if (c_.key_shift) s.parts.push_back(key_shift_part(H * d, kv));
  return s;
}

void VqAttentionMixer::visit(const std::string& prefix, const nn::ParameterVisitor& v) {
  const char* names[] = {"q_proj", "k_proj", "v_proj"};
  for (size_t i = 0; i < 3; ++i) qkv_.part(i).visit(prefix + names[i], v);
  v(prefix + "codebook", codes_);
  v(prefix + "beta", beta_);
  if (c_.key_shift) v(prefix + "key_shift", mu_);
  out_.visit(prefix + "o_proj", v);
}

void VqAttentionMixer::pack(const nn::WeightPrepacking& t) {
  if (!t.packs()) return;
  qkv_.pack(t);
  out_.pack(t);
  columns_ = columns();
}

Tensor VqAttentionMixer::columns() const {
  const Tensor rows = codes_.value;
  Tensor out = Tensor::zeros({c_.n_head, c_.head_dim, ovq_key_stride(c_.codes)}, rows.dtype());
  nn::with_float(rows.dtype(), [&]<class T>() {
    for (int64_t h = 0; h < c_.n_head; ++h)
      vq_columns<T>(o_, rows.data<T>() + h * c_.codes * c_.head_dim, c_.head_dim, out.view<T, 3>().row(h));
  });
  return out;
}

double VqAttentionMixer::scale(int64_t h) const {
  return beta_.value.item(h) * std::sqrt(static_cast<double>(c_.head_dim));
}

template <class T>
void VqAttentionMixer::run(const RunTensors& in, const Batch& b, int site, SequenceState* into) {
  const int64_t H = c_.n_head, d = c_.head_dim;
  const DType dtype = in.q.dtype();
  SsmStates<T, 3> values(b, site, kValues, dtype), chunk_keys(b, site, kChunkKeys, dtype),
      chunk_values(b, site, kChunkValues, dtype);
  SsmStates<T, 2> counts(b, site, kCounts, dtype), chunk_codes(b, site, kChunkCodes, dtype);
  parallel_dynamic(b.segments() * H, [&](int64_t unit) {
    const int64_t s = unit / H, h = unit % H, begin = b.offsets[s], end = b.offsets[s + 1];
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    OvqMemory<T> m;
    if (b.states.empty()) {
      const OvqOptions o = o_.reading();
      std::span<T> room = scratch.take<T>(OvqMemory<T>::elements(o, d, d) + o.chunk);
      std::fill(room.begin(), room.end(), T(0));
      m = OvqMemory<T>::in(room.data() + o.chunk, o, d, d);
      m.keys = room.data();
    } else {
      m.keys = chunk_codes.views()[s].row(h), m.values = values.views()[s].row(h);
      m.counts = counts.views()[s].row(h), m.chunk_keys = chunk_keys.views()[s].row(h);
      m.chunk_values = chunk_values.views()[s].row(h),
      m.seen = b.states[s]->fixed(site, kSeen).template data<int64_t>()[0];
    }
    vq_forward<T>(o_,
                  {head_rows<const T>(in.q, begin, end, h), head_rows<const T>(in.k, begin, end, h),
                   head_rows<const T>(in.v, begin, end, h), scale(h)},
                  {codes_.value.data<T>() + h * c_.codes * d, in.columns.view<T, 3>().row(h)}, m,
                  {.out = head_rows<T>(in.out, begin, end, h),
                   .lse = head_span<T>(in.lse, begin, end, h),
                   .rows = head_span<int32_t>(in.rows, begin, end, h)},
                  scratch);
  });
  for (size_t s = 0; s < b.states.size(); ++s)
    b.states[s]->fixed(site, kSeen).data<int64_t>()[0] += b.offsets[s + 1] - b.offsets[s];
  if (!into) return;
  values.snapshot(into), counts.snapshot(into);
  chunk_keys.snapshot(into), chunk_values.snapshot(into);
  chunk_codes.snapshot(into);
  into->fixed(site, kSeen).copy_from(b.states[0]->fixed(site, kSeen));
}

template <class T>
grad::Var VqAttentionMixer::core(grad::Tape& tape, const grad::Var& q_THd, const grad::Var& k_THd,
                                 const grad::Var& v_THd, const Batch& batch, int site) {
  const trace::Span span(trace::Kind::operation, "VQ attention");
  const std::vector<grad::Var> inputs = {q_THd, k_THd, v_THd, tape.param(codes_), tape.param(beta_)};
  const Tensor q = q_THd.value, k = k_THd.value, v = v_THd.value, out = Tensor::empty(q.shape(), q.dtype()),
               columns = columns_.defined() && !tape.recording() ? columns_ : this->columns();
  const bool keep = tape.needs(inputs);
  QUERN_CHECK(!keep || batch.states.empty(), "training reads whole segments, not states");
  const int64_t H = c_.n_head, d = c_.head_dim;
  Tensor lse, rows;
  if (keep) lse = Tensor::empty({H, q.dim(0)}, q.dtype()), rows = Tensor::empty({H, q.dim(0)}, DType::i32);
  between_snapshots(batch, [&](int64_t row, int64_t n, const Batch& b, SequenceState* into) {
    run<T>({.q = q.narrow(0, row, n),
            .k = k.narrow(0, row, n),
            .v = v.narrow(0, row, n),
            .columns = columns,
            .out = out.narrow(0, row, n),
            .lse = lse,
            .rows = rows},
           b, site, into);
  });
  return tape.record(out, inputs, [=, this, offsets = batch.offsets](grad::Grads& g) {
    const Tensor gout = g.out(), gq = Tensor::empty(q.shape(), q.dtype()), gk = Tensor::empty(k.shape(), k.dtype()),
                 gv = Tensor::empty(v.shape(), v.dtype());
    const int64_t S = static_cast<int64_t>(offsets.size()) - 1;
    std::vector<double> gscale(static_cast<size_t>(S * H), 0.0);
    const Tensor gcodes = Tensor::zeros(codes_.shape, q.dtype());
    parallel_dynamic(H, [&](int64_t h) {  // a head's segments one after the other: they share its codebook
      for (int64_t s = 0; s < S; ++s) {
        const int64_t begin = offsets[s], end = offsets[s + 1];
        if (begin == end) continue;
        gscale[static_cast<size_t>(s * H + h)] =
            vq_backward<T>(o_,
                           {head_rows<const T>(q, begin, end, h), head_rows<const T>(k, begin, end, h),
                            head_rows<const T>(v, begin, end, h), scale(h)},
                           {codes_.value.data<T>() + h * c_.codes * d, columns.view<T, 3>().row(h)},
                           {.out = head_rows<const T>(out, begin, end, h),
                            .lse = head_span<T>(lse, begin, end, h),
                            .rows = head_span<int32_t>(rows, begin, end, h),
                            .gout = head_rows<const T>(gout, begin, end, h),
                            .tokens = q.dim(0),
                            .gq = head_rows<T>(gq, begin, end, h),
                            .gk = head_rows<T>(gk, begin, end, h),
                            .gv = head_rows<T>(gv, begin, end, h),
                            .gcodes = gcodes.data<T>() + h * c_.codes * d},
                           thread_arena());
      }
    });
    g.add(0, gq);
    g.add(1, gk);
    g.add(2, gv);
    if (g.wants(3)) g.add(3, gcodes);
    if (!g.wants(4)) return;
    const auto gbeta = g.accumulator(4).template view<T, 1>();
    for (int64_t s = 0; s < S; ++s)
      for (int64_t h = 0; h < H; ++h)
        gbeta(h) += static_cast<T>(std::sqrt(static_cast<double>(d)) * gscale[static_cast<size_t>(s * H + h)]);
  });
}

grad::Var VqAttentionMixer::forward(grad::Tape& tape, const grad::Var& x_TD, const Batch& batch, int site) {
  batch.placement.require_whole_segments("vq_attention");
  const int64_t T = x_TD.dim(0), H = c_.n_head, d = c_.head_dim;
  std::vector<grad::Var> p = qkv_.forward(tape, x_TD, {1, 1, 1});
  if (c_.key_shift) p[1] = key_shift(tape, p[1], mu_, batch, site);
  auto heads = [&](const grad::Var& x) { return nn::reshape(tape, x, {T, H, d}); };
  const grad::Var q = nn::l2_norm(tape, heads(p[0]), nullptr, 1, kUnitEps),
                  k = nn::l2_norm(tape, heads(p[1]), nullptr, 1, kUnitEps), v = heads(p[2]);
  grad::Var y = nn::with_float(q.dtype(), [&]<class E>() { return core<E>(tape, q, k, v, batch, site); });
  return nn::linear(tape, nn::reshape(tape, y, {T, H * d}), out_);
}

void register_vq_attention(nn::Registry& r) {
  r.mixers.add("vq_attention", [](const Json& j) -> std::unique_ptr<Mixer> {
    VqAttentionConfig c;
    from_json(j, c, "mixer vq_attention", UnknownKeys::refuse);
    return std::make_unique<VqAttentionMixer>(c);
  });
}

}  // namespace quern::mixers
