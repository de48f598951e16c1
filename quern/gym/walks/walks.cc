// Environment `walks`: the longest way through one-way roads.
#include "quern/gym/environment_registry.h"
#include "quern/gym/roads.h"

namespace quern::gym {
namespace {

class Walks : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return way_problem(r, difficulty, Best::longest); }
  std::optional<int64_t> saturates_at() const override { return kHardestRoads; }
};

}  // namespace

void register_walks(EnvironmentRegistry& r) {
  r.add("walks", "the longest way through one-way roads, by trying ways and keeping the best",
        std::make_unique<Walks>(), "graphs and search");
}

}  // namespace quern::gym
