// The twin of a frozen model beside which an adapter learns: the same base, loaded once more, and the adapter's factors as
// they were at the last refresh. While the learner's copies of A and B move, the twin's stay, so that a thread may sample from
// it; and its low-rank products give a row the same bits alone and in company (kernels/low_rank/low_rank.h).
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "quern/models/checkpoint.h"
#include "quern/models/trained_adapter.h"

namespace quern::models {

class AdapterTwin {
 public:
  // `base`: how the learner's base was loaded. The adapter must outlive the twin.
  AdapterTwin(const nn::Registry& registry, const std::filesystem::path& folder, LoadOptions base,
              TrainedAdapter& adapter);
  // Takes over the adapter's values as they are now. Not while a forward pass of the twin runs; states and caches that were
  // computed before hold what the old values made of their tokens.
  void refresh();
  Model& model() { return *twin_; }

 private:
  // Of each of the adapter's paths, one that does not learn.
  class Paths : public nn::LowRankSource {
   public:
    explicit Paths(TrainedAdapter& adapter) : adapter_(adapter) {}
    nn::LowRank find(const std::string& matrix, int64_t n, int64_t k) override;
    void refresh();

   private:
    struct Pair {
      nn::LowRank learns;
      std::shared_ptr<nn::LowRankPair> stays;
    };
    TrainedAdapter& adapter_;
    std::map<std::string, Pair> pairs_;  // by matrix
  };

  Paths paths_;
  std::unique_ptr<Model> twin_;
};

}  // namespace quern::models
