#include "quern/models/adapter_sites.h"

#include <atomic>

#include "quern/base/error.h"
#include "quern/models/adapter.h"

namespace quern::models {

nn::LowRank AdapterSites::find_shared(const std::vector<std::string>& names, int64_t n, int64_t k) {
  sites_.push_back({names, n, k});
  return nn::LowRank::at_site(sites_.size() - 1, n);
}

std::shared_ptr<const nn::AdapterPaths> AdapterSites::read(const std::filesystem::path& folder,
                                                           const Model& model) const {
  static std::atomic<uint64_t> last = 0;
  Adapter adapter(folder);
  if (!adapter.only_beside())
    fail("{}: replaces or changes whole tensors (modules_to_save, lm_head, experts), which rows cannot choose",
         folder.string());
  adapter.names_of(model);
  auto paths = std::make_shared<nn::AdapterPaths>();
  paths->id = ++last;
  for (const Site& site : sites_) {
    const nn::LowRank path = adapter.find_shared(site.names, site.n, site.k);
    paths->at.push_back(path.defined() ? path.pair().factors : kernels::LowRankFactors());
    if (path.defined()) paths->bytes += path.pair().factors.bytes();
  }
  adapter.finish();
  return paths;
}

bool AdapterSites::only_beside(const std::filesystem::path& folder) { return Adapter(folder).only_beside(); }

}  // namespace quern::models
