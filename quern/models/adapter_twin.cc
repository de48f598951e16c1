#include "quern/models/adapter_twin.h"

#include <utility>

namespace quern::models {
namespace {

LoadOptions beside(LoadOptions base, nn::LowRankSource& paths) {
  base.paths = &paths;
  return base;
}

}  // namespace

nn::LowRank AdapterTwin::Paths::find(const std::string& matrix, int64_t n, int64_t k) {
  nn::LowRank learns = adapter_.find(matrix, n, k);
  if (!learns.defined()) return {};
  Pair& pair = pairs_[matrix];
  if (!pair.stays) {
    const nn::LowRankPair& p = learns.pair();
    pair.stays = std::make_shared<nn::LowRankPair>(p.a_RK.value.clone(), p.b_NR.value.clone(), p.scale);
    pair.learns = std::move(learns);
  }
  return pair.stays;
}

void AdapterTwin::Paths::refresh() {
  for (auto& [matrix, pair] : pairs_) {
    const nn::LowRankPair& p = pair.learns.pair();
    nn::LowRankPair& to = *pair.stays;
    to.a_RK.value.copy_from(p.a_RK.value), to.b_NR.value.copy_from(p.b_NR.value);
    to.factors = kernels::LowRankFactors::pack(to.a_RK.value, to.b_NR.value, to.scale);
  }
}

AdapterTwin::AdapterTwin(const nn::Registry& registry, const std::filesystem::path& folder, LoadOptions base,
                         TrainedAdapter& adapter)
    : paths_(adapter), twin_(load_model(registry, folder, beside(std::move(base), paths_))) {
  refresh();
}

void AdapterTwin::refresh() { paths_.refresh(); }

}  // namespace quern::models
