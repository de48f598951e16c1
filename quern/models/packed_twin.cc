#include "quern/models/packed_twin.h"

#include <map>
#include <string>

#include "quern/base/error.h"
#include "quern/models/checkpoint.h"

namespace quern::models {

PackedTwin::PackedTwin(const nn::Registry& registry, Model& source, kernels::QuantFormat format)
    : source_(source), format_(format), twin_(build_model(registry, source.config())) {
  refresh();
}

void PackedTwin::refresh() {
  std::map<std::string, Tensor> values;
  source_.visit("", [&](const std::string& name, grad::Parameter& p) {
    if (!p.value.defined()) fail("{}: the model has no plain weights any more; a twin is made of these", name);
    values[name] = p.value;
  });
  // What the twin keeps must not change with the source. Matrices are read while they are packed; the few that stay as
  // they are, such as an embedding, are copied then.
  twin_->visit("", [&](const std::string& name, grad::Parameter& p) {
    const Tensor& v = values.at(name);
    p.value = p.matrix ? v : v.clone();
  });
  twin_->pack(nn::WeightPrepacking(format_));
  twin_->visit("", [&](const std::string&, grad::Parameter& p) {
    if (p.matrix && p.value.defined()) p.value = p.value.clone();
  });
  ++version_;
}

}  // namespace quern::models
