// ZAYA's legacy layout as a table: the parameters of a model built from the configuration are the current names,
// zaya_legacy_place tells where each lies in the other.
#include "quern/models/zaya/zaya_model.h"
#include "quern/models/zaya/zaya_names.h"

namespace quern::models {

std::unique_ptr<CheckpointLayout> zaya_legacy_layout(const Json& config) {
  const ZayaConfig c = ZayaConfig::from_hf(config, nullptr);
  auto layout = std::make_unique<CheckpointLayout>();
  ZayaModel(c).visit("", [&](const std::string& name, grad::Parameter& p) {
    layout->rows[name] = {zaya_legacy_place(name, c.num_hidden_layers), p.optional};
  });
  return layout;
}

}  // namespace quern::models
