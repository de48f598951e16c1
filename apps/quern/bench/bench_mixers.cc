// Head size 128. MHA: width/128 heads. CCGQA: queries at 1/2, keys and values at 1/8 of the width (2×, 8×). CCA: all
// at 1/4 (4×). Variants take turns inside each repetition, so that a slow moment of the machine falls on all of them.
#include "apps/quern/bench/bench_mixers.h"

#include <memory>
#include <vector>

#include "apps/quern/cli/args.h"
#include "apps/quern/models/context.h"
#include "quern/base/stopwatch.h"
#include "quern/grad/gradcheck.h"
#include "quern/host/bench.h"
#include "quern/mixers/attention/attention_mixer.h"
#include "quern/mixers/cca/cca_mixer.h"

namespace quern::cli {
namespace {

constexpr int64_t kHead = 128;

struct Variant {
  std::string name;
  std::function<std::unique_ptr<mixers::Mixer>()> make;
  double projection_macs = 0, attention_width = 0;  // multiply-adds a token; width of the quadratic term
  std::vector<double> prefill, backward;
};

std::vector<Variant> variants(int64_t width) {
  auto cca = [width](int64_t q_part, int64_t kv_part) {
    mixers::CcaConfig c;
    c.width = width;
    c.n_head = width / kHead / q_part;
    c.n_head_kv = width / kHead / kv_part;
    c.head_dim = kHead;
    c.rotary_dims = kHead / 2;
    return [c] { return std::make_unique<mixers::CcaMixer>(c); };
  };
  mixers::AttentionConfig a;
  a.width = width;
  a.n_head = a.n_head_kv = width / kHead;
  a.head_dim = a.rotary_dims = kHead;
  double E = static_cast<double>(width);
  std::vector<Variant> v(3);
  v[0] = {"mha", [a] { return std::make_unique<mixers::AttentionMixer>(a); }, 4 * E * E, E, {}, {}};
  v[1] = {"ccgqa", cca(2, 8), 2 * E * E / 2 + 2 * E * E / 8, E / 2, {}, {}};
  v[2] = {"cca4", cca(4, 4), 4 * E * E / 4, E / 4, {}, {}};
  return v;
}

double prefill_seconds(const Variant& v, const Tensor& x, DType dtype) {
  auto m = v.make();
  nn::initialize(*m, 1);
  m->pack(dtype);
  mixers::SequenceState state({{0, 0, m->state_spec(dtype)}});
  mixers::Batch batch = mixers::Batch::resume({&state}, {x.dim(0)});
  grad::Tape tape(grad::Tape::inference);
  return seconds_of([&] { m->forward(tape, grad::Var(x), batch, 0); });
}

double backward_seconds(const Variant& v, const Tensor& x, const Tensor& gy) {
  auto m = v.make();
  nn::initialize(*m, 1);
  grad::Tape tape;
  grad::Var y = m->forward(tape, tape.input(x), mixers::Batch::single(x.dim(0)), 0);
  return seconds_of([&] { tape.backward({y}, {gy}); });
}

double ratio(const std::vector<double>& base, const std::vector<double>& other) {
  std::vector<double> r;
  for (size_t i = 0; i < base.size(); ++i) r.push_back(base[i] / other[i]);
  return host::median(r);
}

}  // namespace

int bench_mixers(const MixerBenchOptions& o) {
  const bool json = o.json;
  DType dtype = parse_compute_dtype(o.dtype);
  if (o.width % (8 * kHead))
    throw UsageError(fmt::format("quern bench mixers: --width {}: expected a multiple of {}", o.width, 8 * kHead));
  if (o.tokens < 1) throw UsageError(fmt::format("quern bench mixers: --tokens {}: expected 1 or more", o.tokens));
  Tensor x = grad::random_normal({o.tokens, o.width}, 1, DType::f32),
         gy = grad::random_normal({o.tokens, o.width}, 2, DType::f32);
  std::vector<Variant> all = variants(o.width);
  for (int64_t rep = -1; rep < o.reps; ++rep)  // the first round only touches the buffers: seconds a GB, mostly MHA's
    for (Variant& v : all) {
      double prefill = prefill_seconds(v, x, dtype), backward = o.skip_backward ? 0 : backward_seconds(v, x, gy);
      fmt::print(stderr, "{:<6} prefill {:.2f} s{}{}\n", v.name, prefill,
                 o.skip_backward ? "" : fmt::format(", backward {:.2f} s", backward),
                 rep < 0 ? " (not counted)" : "");
      if (rep < 0) continue;
      v.prefill.push_back(prefill);
      if (!o.skip_backward) v.backward.push_back(backward);
    }
  double peak = host::measure(dtype == DType::bf16 ? host::Bound::bf16_flops : host::Bound::f32_flops),
         T = static_cast<double>(o.tokens);
  Json j = Json::object();
  j.set("tokens", o.tokens);
  j.set("width", o.width);
  j.set("dtype", o.dtype);
  j.set("peak_gflops", peak);
  for (Variant& v : all) {
    double flops = 2 * T * v.projection_macs + 2 * 2 * v.attention_width * T * (T + 1) / 2;
    j.set(v.name + "_prefill_seconds", host::median(v.prefill));
    j.set(v.name + "_prefill_peak_ratio", flops / host::median(v.prefill) / 1e9 / peak);
    if (!o.skip_backward) j.set(v.name + "_backward_seconds", host::median(v.backward));
  }
  for (size_t i = 1; i < all.size(); ++i) {
    j.set(all[i].name + "_prefill_speedup", ratio(all[0].prefill, all[i].prefill));
    if (!o.skip_backward) j.set(all[i].name + "_backward_speedup", ratio(all[0].backward, all[i].backward));
  }
  if (json) {
    fmt::print("{}\n", j.dump(2));
    return 0;
  }
  fmt::print("one layer with projections, {} tokens, width {}, heads of {}, prefill {}, backward f32\n", o.tokens,
             o.width, kHead, o.dtype);
  for (const auto& [key, value] : j.as_object())
    if (!value.is_string()) fmt::print("{:<28} {:.3g}\n", key, value.as_double());
  return 0;
}

}  // namespace quern::cli
