#include "quern/mixers/ranks/attend.h"

#include "quern/base/threads.h"
#include "quern/kernels/attention/attention.h"
#include "quern/kernels/attention/cache_q8.h"
#include "quern/mixers/ranks/cache_shards.h"
#include "quern/mixers/ranks/context_attend.h"
#include "quern/mixers/ranks/prompt_shards.h"
#include "quern/nn/dispatch.h"
#include "quern/trace/trace.h"

namespace quern::mixers {
namespace {

constexpr int64_t kSequencesAPart = 4;  // whose rows are put into their caches in one go

kernels::AttentionOptions kernel_options(const AttendOptions& o) {
  return {.scale = o.scale, .window = o.window, .bf16_math = o.bf16_math};
}

// Over the caches: one a segment, whose rows are the last of its keys.
template <class T, class KV>
Tensor attend_keys(const Tensor& q, const std::vector<CachedRows>& caches, const Batch& b, const AttendOptions& o) {
  std::vector<kernels::AttentionSegment<KV>> segments;
  for (size_t s = 0; s < caches.size(); ++s) {
    const CachedRows& c = caches[s];
    segments.push_back({b.offsets[s], b.offsets[s + 1] - b.offsets[s], c.k.view<const KV, 3>(),
                        c.v.view<const KV, 3>(), scales_of(c.k_scale), scales_of(c.v_scale)});
  }
  const Tensor out = Tensor::empty({q.dim(0), q.dim(1), caches[0].v.dim(2)}, q.dtype());
  Arena& scratch = thread_arena();
  Arena::Scope scope(scratch);
  kernels::attention<T, KV>(q.view<const T, 3>(), segments, kernel_options(o), out.view<T, 3>(), {}, scratch);
  return out;
}

Tensor attend_cached(const Tensor& q, const std::vector<CachedRows>& caches, const Batch& b, const AttendOptions& o) {
  const DType kv = caches[0].k.dtype();
  if (kv == DType::f64) return attend_keys<double, double>(q, caches, b, o);
  if (kv == DType::bf16) return attend_keys<float, bf16>(q, caches, b, o);
  if (kv == DType::i8) return attend_keys<float, int8_t>(q, caches, b, o);
  return attend_keys<float, float>(q, caches, b, o);
}

// A prompt over ranks: a chunk of it sees all rows up to its end.
Tensor attend_prompt(const PromptShards& prompt, const AttentionHeads& heads, const Batch& b, int site,
                     AttendOptions o) {
  o.bf16_math = false;  // as over the shards (cache_shards.h)
  const SequenceState all = prompt.gather_keys(site, heads.k_THd.value, heads.v_THd.value);
  const CachedRows whole = cached_rows(all, 0);
  const auto until = [](const Tensor& x, int64_t end) { return x.defined() ? x.narrow(0, 0, end) : x; };
  std::vector<CachedRows> seen;
  for (const ContextParallel::Segment& s : prompt.rows().segments())
    seen.push_back(
        {until(whole.k, s.end), until(whole.v, s.end), until(whole.k_scale, s.end), until(whole.v_scale, s.end)});
  return attend_cached(heads.q_THd.value, seen, b, o);
}

// Parts of the state.
constexpr const char *kKeys = "k", *kValues = "v", *kKeyScales = "k_scale", *kValueScales = "v_scale";

template <class T>
grad::Var attend_fresh(grad::Tape& tape, const grad::Var& q_THd, const grad::Var& k_THd, const grad::Var& v_THd,
                       const Batch& b, const AttendOptions& o) {
  Tensor q = q_THd.value, k = k_THd.value, v = v_THd.value;
  Tensor out = Tensor::empty({q.dim(0), q.dim(1), v.dim(2)}, q.dtype());
  bool keep = tape.needs({q_THd, k_THd, v_THd});
  Tensor lse = keep ? Tensor::empty({q.dim(0), q.dim(1)}, q.dtype()) : Tensor();
  std::vector<kernels::AttentionSegment<T>> segments;
  for (int64_t s = 0; s < b.segments(); ++s) {
    int64_t n = b.offsets[s + 1] - b.offsets[s];
    segments.push_back({b.offsets[s], n, k.view<const T, 3>().slice(b.offsets[s], b.offsets[s + 1]),
                        v.view<const T, 3>().slice(b.offsets[s], b.offsets[s + 1])});
  }
  Arena& scratch = thread_arena();
  Arena::Scope scope(scratch);
  kernels::attention<T, T>(q.view<const T, 3>(), segments, kernel_options(o), out.view<T, 3>(),
                           keep ? lse.view<T, 2>() : View<T, 2>(), scratch);
  return tape.record(out, {q_THd, k_THd, v_THd}, [q, k, v, out, lse, offsets = b.offsets, o](grad::Grads& g) {
    Tensor gq = Tensor::empty(q.shape(), q.dtype()), gk = Tensor::empty(k.shape(), k.dtype()),
           gv = Tensor::empty(v.shape(), v.dtype());
    Arena& scratch = thread_arena();
    Arena::Scope scope(scratch);
    kernels::attention_backward<T>({.q = q.view<const T, 3>(),
                                    .k = k.view<const T, 3>(),
                                    .v = v.view<const T, 3>(),
                                    .o = out.view<const T, 3>(),
                                    .lse = lse.view<const T, 2>(),
                                    .go = g.out().view<const T, 3>(),
                                    .offsets = offsets,
                                    .options = kernel_options(o),
                                    .grads = {gq.view<T, 3>(), gk.view<T, 3>(), gv.view<T, 3>()}},
                                   scratch);
    g.add(0, gq);
    g.add(1, gk);
    g.add(2, gv);
  });
}

}  // namespace

void check_heads(const char* mixer, int64_t width, int64_t n_head, int64_t n_head_kv, int64_t head_dim,
                 int64_t rotary_dims) {
  if (width < 1 || head_dim < 1) fail("{}: width {} and head_dim {} must be 1 or more", mixer, width, head_dim);
  if (n_head < 1 || n_head_kv < 1 || n_head % n_head_kv)
    fail("{}: n_head {} is not a multiple of n_head_kv {}", mixer, n_head, n_head_kv);
  if (rotary_dims < 0 || rotary_dims % 2 || rotary_dims > head_dim)
    fail("{}: rotary_dims {} is odd or outside 0 … head_dim {}", mixer, rotary_dims, head_dim);
}

std::vector<StatePart> kv_parts(int64_t n_head_kv, int64_t head_dim, int64_t window, DType kv) {
  auto part = [&](std::string name) {
    return StatePart{.name = std::move(name),
                     .per_token = true,
                     .shape = {n_head_kv, head_dim},
                     .dtype = kv,
                     .window = window,
                     .shard_axis = 0,
                     .over_ranks = true};
  };
  std::vector<StatePart> parts = {part(kKeys), part(kValues)};
  if (kv != DType::i8) return parts;
  for (const char* name : {kKeyScales, kValueScales}) {
    StatePart scale = part(name);
    scale.shape = {n_head_kv, 1}, scale.dtype = DType::f32;
    parts.push_back(std::move(scale));
  }
  return parts;
}

CachedRows cached_rows(const SequenceState& state, int site) {
  CachedRows c{state.rows(site, kKeys), state.rows(site, kValues), {}, {}};
  if (c.k.dtype() != DType::i8) return c;
  c.k_scale = state.rows(site, kKeyScales), c.v_scale = state.rows(site, kValueScales);
  return c;
}

View<float, 2> scales_of(const Tensor& t) {
  if (!t.defined()) return {};
  const auto v = t.view<float, 3>();
  return {v.data, {v.shape[0], v.shape[1]}, {v.stride[0], v.stride[1]}};
}

void append_rows(SequenceState& state, int site, const Tensor& k, const Tensor& v) {
  const auto append = [&](const char* part, const Tensor& rows, const char* scales) {
    const Tensor to = state.append(site, part, rows.dim(0));
    if (to.dtype() != DType::i8) return to.copy_from(rows);
    kernels::quantize_cache_rows(rows.to(DType::f32).view<const float, 3>(), to.view<int8_t, 3>(),
                                 scales_of(state.append(site, scales, rows.dim(0))));
  };
  append(kKeys, k, kKeyScales), append(kValues, v, kValueScales);
}

Tensor wide_rows(const Tensor& rows, const Tensor& scale, int64_t begin, int64_t n, DType type) {
  const Tensor from = rows.narrow(0, begin, n);
  if (rows.dtype() != DType::i8) return from.to(type);
  const Tensor wide = Tensor::empty(from.shape(), DType::f32);
  kernels::dequantize_cache_rows(from.view<const int8_t, 3>(), scales_of(scale.narrow(0, begin, n)),
                                 wide.view<float, 3>());
  return wide.to(type);
}

grad::Var attend(grad::Tape& tape, const AttentionHeads& heads, const Batch& b, int site, AttendOptions o) {
  const trace::Span span(trace::Kind::operation, "attention");
  o.bf16_math = o.bf16_math || tape.bf16();
  if (const PromptShards* prompt = b.placement.prompt_shards()) return attend_prompt(*prompt, heads, b, site, o);
  if (const ContextParallel* c = b.placement.context_parallel())
    return context_attend(tape, *c, heads.q_THd, heads.k_THd, heads.v_THd, o);
  if (b.states.empty())
    return nn::with_float(heads.q_THd.dtype(), [&]<class T>() {
      return attend_fresh<T>(tape, heads.q_THd, heads.k_THd, heads.v_THd, b, o);
    });
  QUERN_CHECK(!tape.needs({heads.q_THd, heads.k_THd, heads.v_THd}), "training reads whole segments, not states");
  if (b.placement.cache_shards() && o.window == 0)
    return attend_shards(heads.q_THd, heads.k_THd, heads.v_THd, b, site, o);
  std::vector<CachedRows> caches(b.states.size());
  parallel_for(static_cast<int64_t>(caches.size()), kSequencesAPart, [&](int64_t from, int64_t to) {
    for (auto s = static_cast<size_t>(from); s < static_cast<size_t>(to); ++s) {
      const int64_t begin = b.offsets[s], n = b.offsets[s + 1] - begin;
      append_rows(*b.states[s], site, heads.k_THd.value.narrow(0, begin, n), heads.v_THd.value.narrow(0, begin, n));
      caches[s] = cached_rows(*b.states[s], site);
    }
  });
  return attend_cached(heads.q_THd.value, caches, b, o);
}

}  // namespace quern::mixers
