#include "quern/models/adapter_sites.h"

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/models/adapter.h"
#include "quern/models/fingerprint.h"

namespace quern::models {
namespace {

uint64_t hash_of(const nn::AdapterPaths& paths) {
  const auto bytes = [](const Tensor& t) {
    return std::span(static_cast<const std::byte*>(t.raw()), static_cast<size_t>(t.bytes()));
  };
  uint64_t h = paths.at.size();
  for (size_t i = 0; i < paths.at.size(); ++i) {
    const kernels::LowRankFactors& f = paths.at[i];
    if (!f.defined()) continue;
    const float scale = f.scale();
    h = content_hash(std::as_bytes(std::span(&i, 1)), h);
    h = content_hash(std::as_bytes(std::span(&scale, 1)), h);
    h = content_hash(bytes(f.b()), content_hash(bytes(f.a()), h));
  }
  return h;
}

}  // namespace

nn::LowRank AdapterSites::find_shared(const std::vector<std::string>& names, int64_t n, int64_t k) {
  if (names[0] == "lm_head.weight") return {};  // merged where an adapter has it, so never there
  sites_.push_back({names, n, k});
  return nn::LowRank::at_site(sites_.size() - 1, n);
}

std::shared_ptr<const nn::AdapterPaths> AdapterSites::read(const std::filesystem::path& folder,
                                                           const Model& model) const {
  Adapter adapter(folder);
  if (!adapter.only_beside())
    fail("{}: replaces or changes whole tensors (modules_to_save, lm_head, experts), which rows cannot choose",
         folder.string());
  adapter.names_of(model);
  auto paths = std::make_shared<nn::AdapterPaths>();
  for (const Site& site : sites_) {
    const nn::LowRank path = adapter.find_shared(site.names, site.n, site.k);
    kernels::LowRankFactors& at = paths->at.emplace_back();
    if (!path.defined()) continue;
    const nn::LowRankPair& pair = path.pair();
    at = factors_ == DType::f32
             ? pair.factors
             : kernels::LowRankFactors::pack(pair.a_RK.value, pair.b_NR.value, pair.scale, factors_);
    paths->bytes += at.bytes();
  }
  adapter.finish();
  paths->id = hash_of(*paths);
  return paths;
}

std::shared_ptr<const nn::AdapterPaths> AdapterSites::drawn(int64_t rank, uint64_t seed) const {
  auto paths = std::make_shared<nn::AdapterPaths>();
  Rng random(seed);
  const auto matrix = [&](Shape shape) {
    Tensor t = Tensor::empty(std::move(shape), DType::f32);
    for (float& v : t.span<float>()) v = static_cast<float>((random.uniform() - 0.5) * 0.02);
    return t;
  };
  for (const Site& site : sites_) {
    const Tensor a = matrix({rank, site.k});
    paths->at.push_back(kernels::LowRankFactors::pack(a, matrix({site.n, rank}), 1, factors_));
    paths->bytes += paths->at.back().bytes();
  }
  paths->id = hash_of(*paths);
  return paths;
}

bool AdapterSites::only_beside(const std::filesystem::path& folder) { return Adapter(folder).only_beside(); }

}  // namespace quern::models
