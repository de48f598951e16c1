// Dispatch between prepacked forms, and the calibration statistics.
#include "quern/kernels/quant/prepacked_weight.h"

#include "quern/base/error.h"
#include "quern/kernels/quant/error_feedback.h"
#include "quern/trace/op_counters.h"
#include "quern/trace/trace.h"

namespace quern::kernels {
namespace {

constexpr int64_t kFewRows = 32;  // more than that and a product is bound by arithmetic: nothing to fetch ahead

constexpr int64_t kBlockElements = 1 << 21;  // of W in f32 at a time: 8 MiB, read back from the last cache

}  // namespace

PrepackedWeight PrepackedWeight::pack(const Tensor& w, const QuantFormat& s) {
  QUERN_CHECK(s.format != WeightFormat::plain);
  PrepackedWeight r;
  if (s.quantized())
    r.quant_ = QuantLinear::pack(w, s);
  else
    r.dense_ = PackedLinear::pack(w, s.rows());
  r.order_ = std::make_shared<PrefetchPlan>();
  return r;
}

void PrepackedWeight::note(View<const float, 2> x) const {
  if (seen_) add_outer_products(x, *seen_);
  trace::count_matmul(x.shape[0], n() * k(), bytes());
  const auto rows = static_cast<double>(x.shape[0]);
  trace::count(2 * rows * static_cast<double>(n() * k()),
               static_cast<double>(bytes()) + 4 * rows * static_cast<double>(n() + k()));
}

void PrepackedWeight::announce(int64_t rows) const {
  if (rows <= kFewRows) begin_read({static_cast<const char*>(data()), bytes()}, order_);
}

void PrepackedWeight::apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y,
                            Arena& scratch) const {
  trace::Span span;
  if (trace::recording())
    span.begin(trace::Kind::product,
               fmt::format("{} x {} x {} {}", x.shape[0], n(), k(), format_name(scheme().format)));
  note(x);
  announce(x.shape[0]);
  dense_.defined() ? dense_.apply(x, bias, y, scratch) : quant_.apply(x, bias, y, scratch);
}

void PrepackedWeight::apply_transposed(View<const float, 2> g, int64_t begin, View<float, 2> out, GemmOptions o,
                                       Arena& scratch) const {
  if (quant_.defined() && QuantLinear::multiplies_in_f32(o)) {
    trace::Span span;
    if (trace::recording())
      span.begin(trace::Kind::product,
                 fmt::format("{} x {} x {} {}", g.shape[0], k(), g.shape[1], format_name(scheme().format)));
    return quant_.apply_transposed(g, begin, out, o, scratch);
  }
  Arena::Scope scope(scratch);
  const int64_t n = g.shape[1], rows_at_once = std::clamp<int64_t>(kBlockElements / std::max<int64_t>(k(), 1), 1, n);
  float* block = scratch.take<float>(rows_at_once * k()).data();
  for (int64_t at = 0; at < n; at += rows_at_once) {
    const int64_t count = std::min(rows_at_once, n - at);
    const View<float, 2> w(block, {count, k()});
    rows(begin + at, w);
    gemm<float>({g.data + at, {g.shape[0], count}, {g.stride[0], 1}}, w, out,
                {.beta = at == 0 ? o.beta : 1.0, .bf16 = o.bf16});
  }
}

void PrepackedWeight::apply_groups(std::span<const Group> groups, View<const float, 2> x, View<float, 2> y,
                                   Arena& scratch) {
  Arena::Scope scope(scratch);
  const std::span<QuantLinear::Group> all = scratch.take<QuantLinear::Group>(static_cast<int64_t>(groups.size()));
  bool quantized = true;
  for (size_t g = 0; g < groups.size(); ++g) {
    all[g] = {&groups[g].w->quant_, groups[g].begin, groups[g].end};
    quantized = quantized && groups[g].w->quant_.defined();
  }
  if (quantized && !groups.empty()) groups[0].w->announce(x.shape[0]);
  if (quantized && QuantLinear::apply_together(all, x, y, scratch)) {
    for (const Group& g : groups) g.w->note(x.slice(g.begin, g.end));
    return;
  }
  for (const Group& g : groups) g.w->apply(x.slice(g.begin, g.end), {}, y.slice(g.begin, g.end), scratch);
}

}  // namespace quern::kernels
