// How the engine's sequences use the prefix cache: a sequence starts from its deepest usable snapshot, its prompt
// leaves snapshots on the way, and what it has processed is stored at its end.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "quern/infer/cache/prefix_cache.h"
#include "quern/infer/engine/sequence.h"
#include "quern/infer/engine/snapshot_plan.h"

namespace quern::infer {

struct PrefixReuseOptions {
  int64_t cache_bytes = 0;  // 0 = no prefix cache
  int64_t chunk = 512;
  int64_t max_positions = 0;
  bool deterministic = false;  // snapshots at multiples of chunk only
};

class PrefixReuse {
 public:
  // `disk` may be null.
  PrefixReuse(const std::vector<mixers::StateSite>& sites, const PrefixReuseOptions& options,
              std::unique_ptr<PrefixDisk> disk = nullptr);

  // Gives the sequence its state, from the cache or from nothing, and plans its prompt's snapshots.
  void start(Sequence& s);
  void store_end(const Sequence& s);  // of a sequence that ended without an error

  const SnapshotRules& rules() const { return rules_; }
  const std::vector<mixers::StateSite>& sites() const { return cache_.sites(); }
  PrefixCache& cache() { return cache_; }

 private:
  PrefixReuseOptions o_;
  PrefixCache cache_;
  SnapshotRules rules_;
};

}  // namespace quern::infer
