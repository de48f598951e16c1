// The matrices of a model beside which adapters may stand, so that one copy of its weights serves many: each row of a batch
// chooses its own (nn/row_adapters.h).
//
//   AdapterSites sites;
//   auto model = load_model(registry, folder, {.scheme = q8, .paths = &sites});    // hands out a place a matrix
//   nn::ChosenAdapters sql = {{sites.read(adapter_folder, *model), 0.5F}};         // at any time, on any thread
//   engine.submit({.prompt = ids, .options = {.adapters = sql}});
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "quern/models/model.h"
#include "quern/nn/low_rank.h"

namespace quern::models {

class AdapterSites : public nn::LowRankSource {
 public:
  // factors: how adapters are kept, f32 or bf16.
  explicit AdapterSites(DType factors = DType::f32) : factors_(factors) {}
  nn::LowRank find(const std::string& matrix, int64_t n, int64_t k) override { return find_shared({matrix}, n, k); }
  nn::LowRank find_shared(const std::vector<std::string>& names, int64_t n, int64_t k) override;

  // A PEFT folder. Throws Error where it does not fit, and where more of it than
  // low-rank paths would have to be applied (merges).
  std::shared_ptr<const nn::AdapterPaths> read(const std::filesystem::path& folder, const Model& model) const;
  // One of random numbers, beside every matrix: for measurements.
  std::shared_ptr<const nn::AdapterPaths> drawn(int64_t rank, uint64_t seed) const;
  // Whether read() may take it: the weights stay as they are.
  static bool only_beside(const std::filesystem::path& folder);

 private:
  struct Site {
    std::vector<std::string> names;
    int64_t n, k;
  };
  DType factors_;
  std::vector<Site> sites_;
};

}  // namespace quern::models
