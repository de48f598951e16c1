// Environment `routes`: the shortest way through one-way roads.
#include "quern/gym/environment_registry.h"
#include "quern/gym/roads.h"

namespace quern::gym {
namespace {

class Routes : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return way_problem(r, difficulty, Best::shortest); }
  std::optional<int64_t> saturates_at() const override { return kHardestRoads; }
};

}  // namespace

void register_routes(EnvironmentRegistry& r) {
  r.add("routes", "the shortest way through one-way roads, by trying ways and keeping the best",
        std::make_unique<Routes>(), "graphs and search");
}

}  // namespace quern::gym
