// Reads ZAYA parameters from any published layout: the current one, the legacy one (experts as separate tensors,
// residual scales at the entry of half-layers) and the interim one; expert matrices may be FP8 with a scale per output
// row.
#include "quern/base/error.h"
#include "quern/models/zaya/zaya_model.h"
#include "quern/models/zaya/zaya_names.h"

namespace quern::models {
namespace {

// [E, rows, cols] out of E matrices.
Tensor stack(const TensorFolder& f, const LayoutPlace& place, const Shape& shape) {
  Tensor out;
  for (int64_t e = 0; e < shape[0]; ++e) {
    Tensor t = read_checked(f, fmt::format("{}{}{}", place.name, e, place.expert_tail), {shape[1], shape[2]});
    if (!out.defined()) out = Tensor::empty(shape, t.dtype());
    Tensor slot = out.narrow(0, e, 1).reshape({shape[1], shape[2]});
    slot.copy_from(t);
  }
  return out;
}

}  // namespace

Tensor ZayaModel::read(const TensorFolder& f, const std::string& name, const grad::Parameter& p) const {
  if (zaya_is_legacy(f)) {
    LayoutPlace place = zaya_legacy_place(name, config_.num_hidden_layers);
    return place.expert_tail.empty() ? read_checked(f, place.name, p.shape) : stack(f, place, p.shape);
  }
  if (!f.contains(name))
    if (std::string interim = zaya_interim_name(name); f.contains(interim)) return read_checked(f, interim, p.shape);
  if (!f.contains(name) && p.shape.size() == 3 && name.find(".experts.") != name.npos) {
    // Experts apart under current names: …experts.3.down_proj.weight.
    size_t at = name.rfind('.') + 1;
    LayoutPlace place{name.substr(0, at), "." + name.substr(at) + ".weight"};
    if (f.contains(place.name + "0" + place.expert_tail)) return stack(f, place, p.shape);
  }
  return read_checked(f, name, p.shape);
}

std::vector<std::string> ZayaModel::other_names(const std::string& name) const {
  const LayoutPlace legacy = zaya_legacy_place(name, config_.num_hidden_layers);
  std::vector<std::string> names = {zaya_interim_name(name)};
  if (legacy.expert_tail.empty()) names.push_back(legacy.name);
  return names;
}

}  // namespace quern::models
