// Dispatch between prepacked forms, and the calibration statistics.
#include "quern/kernels/quant/packed_weight.h"

#include "quern/base/error.h"
#include "quern/base/traffic.h"
#include "quern/kernels/quant/feedback.h"

namespace quern::kernels {
namespace {

constexpr int64_t kFewRows = 32;  // more than that and a product is bound by arithmetic: nothing to fetch ahead

}  // namespace

PackedWeight PackedWeight::pack(const Tensor& w, const WeightScheme& s) {
  QUERN_CHECK(s.format != WeightFormat::plain);
  PackedWeight r;
  if (s.quantised())
    r.quant_ = QuantLinear::pack(w, s);
  else
    r.dense_ = PackedLinear::pack(w, s.rows());
  r.order_ = std::make_shared<ReadingOrder>();
  return r;
}

void PackedWeight::note(View<const float, 2> x) const {
  if (seen_) add_outer_products(x, *seen_);
  count_product(x.shape[0], n() * k(), bytes());
}

void PackedWeight::announce(int64_t rows) const {
  if (rows <= kFewRows) reading({static_cast<const char*>(data()), bytes()}, order_);
}

void PackedWeight::apply(View<const float, 2> x, View<const float, 1> bias, View<float, 2> y, Arena& scratch) const {
  note(x);
  announce(x.shape[0]);
  dense_.defined() ? dense_.apply(x, bias, y, scratch) : quant_.apply(x, bias, y, scratch);
}

void PackedWeight::apply_groups(std::span<const Group> groups, View<const float, 2> x, View<float, 2> y,
                                Arena& scratch) {
  Arena::Scope scope(scratch);
  const std::span<QuantLinear::Group> all = scratch.take<QuantLinear::Group>(static_cast<int64_t>(groups.size()));
  bool quantised = true;
  for (size_t g = 0; g < groups.size(); ++g) {
    all[g] = {&groups[g].w->quant_, groups[g].begin, groups[g].end};
    quantised = quantised && groups[g].w->quant_.defined();
  }
  if (quantised && !groups.empty()) groups[0].w->announce(x.shape[0]);
  if (quantised && QuantLinear::apply_together(all, x, y, scratch)) {
    for (const Group& g : groups) g.w->note(x.slice(g.begin, g.end));
    return;
  }
  for (const Group& g : groups) g.w->apply(x.slice(g.begin, g.end), {}, y.slice(g.begin, g.end), scratch);
}

}  // namespace quern::kernels
