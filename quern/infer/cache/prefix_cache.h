// Prefix cache: a radix tree over token ids that lets a request reuse the state of earlier ones. Edges hold the KV
// cache of their tokens, valid up to any token, and snapshots of recurrent state, valid at one position only. A
// request resumes at the deepest snapshot inside its cached prefix and recomputes the rest. Reads only StateSpec. The same
// tokens with other adapters are another text: each variant has a tree of its own, all under one budget.
//
// Snapshots are taken at the ends of turns, where a request branches off a cached path, and periodically. Bytes are
// counted as allocated: rounded-up blocks, tokens and the tree's own nodes. Over the byte budget, periodic snapshots
// that no request ever resumed from are evicted first, oldest first; then whole leaves, least recently used first.
// With a cache on disk (prefix_disk.h) everything stored is written behind, and a request that goes deeper there resumes
// from there; what was read is then in memory again.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "quern/infer/cache/cache_edges.h"
#include "quern/infer/cache/prefix_disk.h"
#include "quern/infer/cache/prefix_text.h"
#include "quern/mixers/state.h"

namespace quern::infer {

enum class SnapshotKind { periodic, branch, turn_end };

struct PrefixMatch {
  int64_t matched = 0;    // leading tokens found in the tree
  int64_t cached = 0;     // of those, where the state resumed
  int64_t from_disk = 0;  // of those, tokens whose rows were read from disk
  std::string note;       // why not more
};

class PrefixCache {
 public:
  // `disk` may be null.
  PrefixCache(std::vector<mixers::StateSite> sites, int64_t budget_bytes, std::unique_ptr<PrefixDisk> disk = nullptr);
  ~PrefixCache();

  // Restores an empty state to the deepest cached position ≤ limit that is a multiple of `aligned`.
  PrefixMatch resume(const PrefixText& text, int64_t limit, mixers::SequenceState& fresh, int64_t aligned = 1);
  // Caches the text's tokens: their KV cache rows from `rows`, a state of them and possibly more, and the recurrent state after
  // the last of them from `fixed`.
  void store(const PrefixText& text, const mixers::SequenceState& rows, const mixers::SequenceState& fixed,
             SnapshotKind kind);
  void store(const PrefixText& text, const mixers::SequenceState& state, SnapshotKind kind) {
    store(text, state, state, kind);
  }
  // Length of the cached prefix, without marking it used.
  int64_t known(const PrefixText& text) const;

  const std::vector<mixers::StateSite>& sites() const { return sites_; }
  bool needs_snapshots() const { return needs_snapshots_; }
  int64_t bytes() const { return bytes_; }
  // Whether n tokens and one snapshot fit the budget.
  bool takes(int64_t n) const { return edge_bytes(n) + snapshot_bytes_ <= budget_; }
  int64_t budget() const { return budget_; }
  PrefixDisk* disk() const { return disk_.get(); }
  std::vector<CacheEdge> edges() const;  // what is in memory
  void clear();                          // what is in memory

 private:
  struct Node;
  struct Snapshot {
    std::vector<Tensor> fixed;
    SnapshotKind kind = SnapshotKind::periodic;
    uint64_t used = 0;
    bool resumed = false;
  };
  using Leaf = std::pair<uint64_t, Node*>;            // time of last use
  using Idle = std::tuple<uint64_t, int64_t, Node*>;  // the same, and the position
  struct Step {
    Node* node;
    int64_t length;  // tokens of the node's edge that matched
  };
  Node* root_of(std::string_view variant);
  int64_t edge_bytes(int64_t tokens) const;  // of a node, without snapshots
  int64_t node_bytes(const Node& node) const;
  std::vector<Step> walk(const PrefixText& text) const;
  bool resume_from_disk(const PrefixText& text, int64_t limit, int64_t aligned, PrefixMatch& m,
                        mixers::SequenceState& fresh);
  void store_on_disk(const PrefixText& text, const mixers::SequenceState& rows, const mixers::SequenceState& fixed);
  void split(Node& node, int64_t length, uint64_t tail_used);
  void put_snapshot(Node& node, int64_t position, const mixers::SequenceState& state, SnapshotKind kind);
  void shrink();
  static void append_rows(const std::vector<Step>& path, const std::vector<std::pair<int, int>>& parts, int64_t n,
                          mixers::SequenceState& state);
  void touch(Node& node);
  bool drop_idle_grid_snapshot();
  bool drop_oldest_leaf();

  std::vector<mixers::StateSite> sites_;
  std::vector<std::pair<int, int>> rows_, fixed_;  // {site, part} of per-token parts and of recurrent state
  std::vector<int64_t> row_bytes_;                 // per token, of each of rows_
  int64_t snapshot_bytes_ = 0;
  bool needs_snapshots_ = false;
  int64_t budget_, bytes_ = 0;
  uint64_t clock_ = 0;
  std::map<std::string, std::unique_ptr<Node>, std::less<>> roots_;  // by variant; a root without children is none
  // Eviction candidates, oldest first, so that finding one needs no walk through the tree.
  std::set<Leaf> leaves_;
  std::set<Idle> idle_;  // periodic snapshots that no request resumed from
  std::unique_ptr<PrefixDisk> disk_;
};

}  // namespace quern::infer
