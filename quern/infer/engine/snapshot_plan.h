// Where in a prompt the engine takes snapshots for the prefix cache: at ends of turns, where the prompt branches off a
// cached path, at its end, and periodically. Pure functions of lengths and positions.
#pragma once
#include <cstdint>
#include <map>
#include <span>

#include "quern/infer/cache/prefix_cache.h"
#include "quern/mixers/state_totals.h"

namespace quern::infer {

struct SnapshotRules {
  int64_t chunk = 512;       // prompt tokens per step
  int64_t grid = 0;          // distance of periodic snapshots; 0 = none
  bool inside_steps = true;  // a forward can leave snapshots on its way; else prompts are fed in pieces ending there
  bool chunk_ends_only = false;  // deterministic: at multiples of chunk only
  bool any_position = false;     // the state resumes at any position: it is stored once, at the prompt's end
};

// What the grid is chosen by.
struct SnapshotGridInput {
  mixers::StateTotals totals;
  int64_t max_positions = 0;
  int64_t cache_bytes = 0;
  int64_t chunk = 512;
  bool inside_steps = true;
};

// Distance of periodic snapshots: the finest with which those of one context of max_positions tokens take at most a
// quarter of the cache, or add at most a quarter to the KV cache rows between them.
int64_t snapshot_grid(const SnapshotGridInput& in);

using SnapshotPositions = std::map<int64_t, SnapshotKind>;

// Positions after `match.cached`, at most `prompt` - 1: the last token is always processed, for its logits.
SnapshotPositions plan_snapshots(const SnapshotRules& rules, int64_t prompt, const PrefixMatch& match,
                                 std::span<const int64_t> turn_ends);

}  // namespace quern::infer
