#include "quern/infer/cache/prefix_cache.h"

#include <algorithm>
#include <new>

#include "quern/base/stopwatch.h"
#include "quern/infer/cache/contiguous_copy.h"

namespace quern::infer {

struct PrefixCache::Node {
  Node* parent = nullptr;
  std::vector<int32_t> tokens;                        // of the edge into this node
  int64_t begin = 0;                                  // position of tokens[0]
  std::vector<Tensor> rows;                           // one per per-token part: [tokens, …], in one block
  std::map<int64_t, Snapshot> snapshots;              // by position, begin < position ≤ end
  std::map<int32_t, std::unique_ptr<Node>> children;  // by their first token
  uint64_t used = 0;
  double used_at = 0;  // seconds of the steady clock
  int64_t hits = 0;

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
  int64_t end() const { return begin + length(); }
};

namespace {

constexpr int64_t kTreeEntry = 48;     // what a std::map adds to its values
constexpr int64_t kWorthLoading = 32;  // tokens more than memory has: for fewer no file is opened

// The entry of `old`, if there is one, becomes that of `now`; takes no memory.
template <class Key>
void rekey(std::set<Key>& set, const Key& old, Key now) {
  auto entry = set.extract(old);
  if (!entry) return;
  entry.value() = std::move(now);
  set.insert(std::move(entry));
}

// Of parts kept together: their block and their handles.
int64_t kept_bytes(std::span<const int64_t> parts, int64_t rows) {
  return contiguous_bytes(parts, rows) + static_cast<int64_t>(parts.size() * sizeof(Tensor));
}

}  // namespace

PrefixCache::PrefixCache(std::vector<mixers::StateSite> sites, int64_t budget_bytes, std::unique_ptr<PrefixDisk> disk)
    : sites_(std::move(sites)), budget_(budget_bytes), disk_(std::move(disk)) {
  std::vector<int64_t> fixed_bytes;
  for (size_t s = 0; s < sites_.size(); ++s) {
    const mixers::StateSpec& spec = sites_[s].spec;
    for (size_t p = 0; p < spec.parts.size(); ++p) {
      const mixers::StatePart& part = spec.parts[p];
      (part.per_token ? rows_ : fixed_).emplace_back(static_cast<int>(s), static_cast<int>(p));
      const int64_t bytes = element_count(part.shape) * dtype_size(part.dtype);
      (part.per_token ? row_bytes_ : fixed_bytes).push_back(bytes);
    }
  }
  needs_snapshots_ = !fixed_.empty();
  if (needs_snapshots_)  // an entry in the tree, and one among those that may go
    snapshot_bytes_ = kept_bytes(fixed_bytes, 1) + static_cast<int64_t>(sizeof(Snapshot)) + 2 * kTreeEntry;
}

PrefixCache::~PrefixCache() { clear(); }

int64_t PrefixCache::edge_bytes(int64_t tokens) const {
  return static_cast<int64_t>(sizeof(Node)) + 2 * kTreeEntry + tokens * static_cast<int64_t>(sizeof(int32_t)) +
         kept_bytes(row_bytes_, tokens);
}

int64_t PrefixCache::node_bytes(const Node& node) const {
  return edge_bytes(node.length()) + static_cast<int64_t>(node.snapshots.size()) * snapshot_bytes_;
}

// A long conversation is a long chain of nodes: taken apart leaf by leaf, not by destructors calling each other.
// Takes no memory: this is what is done when there is none.
void PrefixCache::clear() {
  leaves_.clear(), idle_.clear();
  for (const auto& [variant, root] : roots_)
    for (Node* n = root.get();;) {
      if (!n->children.empty()) {
        n = n->children.begin()->second.get();
        continue;
      }
      if (!n->parent) break;
      n = n->parent;
      n->children.erase(n->children.begin());
    }
  roots_.clear();
  bytes_ = 0;
}

void PrefixCache::touch(Node& node) {
  rekey(leaves_, {node.used, &node}, {clock_, &node});
  node.used = clock_, node.used_at = steady_seconds();
}

std::vector<PrefixCache::Step> PrefixCache::walk(const PrefixText& text) const {
  std::vector<Step> path;
  const auto root = roots_.find(text.variant);
  if (root == roots_.end()) return path;
  const std::span<const int32_t> tokens = text.tokens;
  Node* node = root->second.get();
  for (size_t at = 0; at < tokens.size();) {
    auto child = node->children.find(tokens[at]);
    if (child == node->children.end()) break;
    node = child->second.get();
    auto [here, there] = std::mismatch(node->tokens.begin(), node->tokens.end(),
                                       tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end());
    path.push_back({node, here - node->tokens.begin()});
    at += static_cast<size_t>(path.back().length);
    if (here != node->tokens.end()) break;
  }
  return path;
}

int64_t PrefixCache::known(const PrefixText& text) const {
  std::vector<Step> path = walk(text);
  return path.empty() ? 0 : path.back().node->begin + path.back().length;
}

PrefixMatch PrefixCache::resume(const PrefixText& text, int64_t limit, mixers::SequenceState& fresh,
                                int64_t aligned) {
  QUERN_CHECK(fresh.length() == 0 && limit <= static_cast<int64_t>(text.tokens.size()));
  ++clock_;
  std::vector<Step> path = walk(text);
  PrefixMatch m;
  for (const Step& s : path) m.matched += s.length, touch(*s.node);
  Snapshot* from = nullptr;
  Node* holds = nullptr;
  int64_t reach = std::min(m.matched, limit);
  if (!needs_snapshots_) m.cached = reach / aligned * aligned;
  for (const Step& s : path)
    for (auto& [position, snapshot] : s.node->snapshots)
      if (position <= reach && position % aligned == 0) from = &snapshot, m.cached = position, holds = s.node;

  if (resume_from_disk(text, limit, aligned, m, fresh)) return m;
  append_rows(path, rows_, m.cached, fresh);
  for (const Step& s : path) s.node->hits += s.node->begin < m.cached;
  if (from) {
    idle_.erase({from->used, m.cached, holds});
    from->used = clock_, from->resumed = true;
    for (size_t i = 0; i < fixed_.size(); ++i)
      fresh.fixed(fixed_[i].first, fixed_[i].second).copy_from(from->fixed[i]);
  }
  fresh.advance(m.cached);
  if (disk_ && m.cached > 0) disk_->touch(text.until(m.cached));

  if (m.matched == 0)
    m.note = "no earlier request began with these tokens";
  else if (m.cached == limit)
    m.note = "everything was known; the last token is fed again for its logits";
  else if (m.cached == m.matched)
    m.note = fmt::format("earlier requests part from this one after token {}", m.matched);
  else
    m.note =
        fmt::format("{} tokens matched; the nearest snapshot of the recurrent state is at {}", m.matched, m.cached);
  return m;
}

void PrefixCache::append_rows(const std::vector<Step>& path, const std::vector<std::pair<int, int>>& parts, int64_t n,
                              mixers::SequenceState& state) {
  for (const Step& s : path) {
    const int64_t here = std::min(s.node->length(), n - s.node->begin);
    if (here <= 0) break;
    for (size_t i = 0; i < parts.size(); ++i)
      state.append(parts[i].first, parts[i].second, here).copy_from(s.node->rows[i].narrow(0, 0, here));
  }
}

// Where the disk goes deeper: the rows that memory has come from there, and what was read stays in memory. A damaged
// file is dropped by the disk, which may then have another, shorter way.
bool PrefixCache::resume_from_disk(const PrefixText& text, int64_t limit, int64_t aligned, PrefixMatch& m,
                                   mixers::SequenceState& fresh) {
  if (!disk_) return false;
  for (;;) {
    const int64_t to = disk_->reach(text, limit, aligned);
    if (to < m.cached + kWorthLoading) return false;
    const int64_t from = std::min(m.matched, to);
    if (!disk_->restore(text, from, to, fresh, [&] { append_rows(walk(text), rows_, from, fresh); })) continue;
    fresh.advance(to);
    m.note = fmt::format("{} tokens were read from disk", to - from);
    m.matched = std::max(m.matched, to), m.cached = to, m.from_disk = to - from;
    try {
      if (takes(to)) store(text.until(to), fresh, SnapshotKind::turn_end);
    } catch (const std::bad_alloc&) {
      clear();  // the state is whole; only what was remembered goes
    }
    return true;
  }
}

std::vector<CacheEdge> PrefixCache::edges() const {
  std::vector<CacheEdge> out;
  const double now = steady_seconds();
  for (const auto& [variant, root] : roots_) {
    std::vector<std::pair<const Node*, int64_t>> open{{root.get(), -1}};
    while (!open.empty()) {
      const auto [node, parent] = open.back();
      open.pop_back();
      int64_t mine = parent;
      if (node->parent) {
        mine = std::ssize(out);
        CacheEdge e{.parent = parent,
                    .variant = variant,
                    .begin = node->begin,
                    .tokens = node->tokens,
                    .bytes = node_bytes(*node),
                    .hits = node->hits,
                    .age = now - node->used_at};
        for (const auto& [position, snapshot] : node->snapshots) e.snapshots.push_back(position);
        out.push_back(std::move(e));
      }
      for (const auto& [token, child] : node->children) open.emplace_back(child.get(), mine);
    }
  }
  return out;
}

// What needs memory first, what changes the tree after it: an engine goes on when there is none left.
void PrefixCache::split(Node& node, int64_t length, uint64_t tail_used) {
  auto tail = std::make_unique<Node>();
  tail->parent = &node;
  tail->begin = node.begin + length;
  tail->tokens.assign(node.tokens.begin() + length, node.tokens.end());
  tail->used = tail_used, tail->used_at = node.used_at, tail->hits = node.hits;
  std::vector<Tensor> head, rest;
  for (const Tensor& r : node.rows)
    head.push_back(r.narrow(0, 0, length)), rest.push_back(r.narrow(0, length, r.dim(0) - length));
  head = contiguous_copy(head), tail->rows = contiguous_copy(rest);
  std::map<int32_t, std::unique_ptr<Node>> only_child;
  auto& child = only_child[tail->tokens[0]];

  rekey(leaves_, {node.used, &node}, {tail->used, tail.get()});
  bytes_ += edge_bytes(length) + edge_bytes(node.length() - length) - edge_bytes(node.length());
  node.rows = std::move(head);
  for (auto& [token, grandchild] : node.children) grandchild->parent = tail.get();
  tail->children = std::move(node.children);
  for (auto first = node.snapshots.upper_bound(tail->begin); first != node.snapshots.end();) {
    const uint64_t used = first->second.used;
    rekey(idle_, {used, first->first, &node}, {used, first->first, tail.get()});
    tail->snapshots.insert(node.snapshots.extract(first++));
  }
  node.tokens.resize(static_cast<size_t>(length));
  child = std::move(tail);
  node.children = std::move(only_child);
}

void PrefixCache::put_snapshot(Node& node, int64_t position, const mixers::SequenceState& state, SnapshotKind kind) {
  if (auto known = node.snapshots.find(position); known != node.snapshots.end()) {
    Snapshot& s = known->second;
    const Idle before{s.used, position, &node};
    s.kind = std::max(kind, s.kind), s.used = clock_;
    if (s.kind == SnapshotKind::periodic)
      rekey(idle_, before, {clock_, position, &node});
    else
      idle_.erase(before);
    return;
  }
  Snapshot made;
  made.kind = kind, made.used = clock_;
  std::vector<Tensor> parts;
  for (auto [site, part] : fixed_) parts.push_back(state.fixed(site, part));
  made.fixed = contiguous_copy(parts);
  std::set<Idle> idle;
  if (kind == SnapshotKind::periodic) idle.insert({clock_, position, &node});
  node.snapshots.emplace(position, std::move(made));
  idle_.merge(idle);
  bytes_ += snapshot_bytes_;
}

PrefixCache::Node* PrefixCache::root_of(std::string_view variant) {
  auto root = roots_.find(variant);
  if (root == roots_.end()) root = roots_.emplace(std::string(variant), std::make_unique<Node>()).first;
  return root->second.get();
}

void PrefixCache::store(const PrefixText& text, const mixers::SequenceState& rows, const mixers::SequenceState& fixed,
                        SnapshotKind kind) {
  const std::span<const int32_t> tokens = text.tokens;
  int64_t n = static_cast<int64_t>(tokens.size());
  QUERN_CHECK(fixed.length() == n && rows.length() >= n, "states of {} and {} tokens stored under {}", rows.length(),
              fixed.length(), n);
  if (n == 0) return;
  if (!takes(n)) return store_on_disk(text, rows, fixed);  // it would push out everything, itself included
  ++clock_;
  std::vector<Step> path = walk(text);
  const uint64_t before = path.empty() ? 0 : path.back().node->used;  // of what lies behind the place where they part
  for (const Step& s : path) touch(*s.node);
  Node* node = path.empty() ? root_of(text.variant) : path.back().node;
  int64_t at = path.empty() ? 0 : node->begin + path.back().length;
  if (at < n) {
    if (at < node->end()) split(*node, at - node->begin, before);
    auto leaf = std::make_unique<Node>();
    leaf->parent = node;
    leaf->begin = at;
    leaf->tokens.assign(tokens.begin() + at, tokens.end());
    leaf->used = clock_, leaf->used_at = steady_seconds();
    std::vector<Tensor> parts;
    for (auto [site, part] : rows_) parts.push_back(rows.rows(site, part).narrow(0, at, n - at));
    leaf->rows = contiguous_copy(parts);
    Node* added = leaf.get();
    std::set<Leaf> entry = {{clock_, added}};
    node->children.emplace(tokens[static_cast<size_t>(at)], std::move(leaf));
    leaves_.merge(entry), leaves_.erase({node->used, node});
    bytes_ += edge_bytes(n - at);
    node = added;
  }
  if (needs_snapshots_) put_snapshot(*node, n, fixed, kind);
  if (disk_) {
    const std::vector<Tensor> none;
    disk_->store(text, rows, {.begin = node->begin, .parts = &node->rows},
                 needs_snapshots_ ? node->snapshots.at(n).fixed : none);
  }
  shrink();
}

void PrefixCache::store_on_disk(const PrefixText& text, const mixers::SequenceState& rows,
                                const mixers::SequenceState& fixed) {
  if (!disk_) return;
  std::vector<Tensor> parts;
  for (auto [site, part] : fixed_) parts.push_back(fixed.fixed(site, part));
  disk_->store(text, rows, {}, contiguous_copy(parts));
}

void PrefixCache::shrink() {
  while (bytes_ > budget_ && (drop_idle_grid_snapshot() || drop_oldest_leaf())) {
  }
}

bool PrefixCache::drop_idle_grid_snapshot() {
  if (idle_.empty()) return false;
  const auto [used, position, node] = *idle_.begin();
  if (used == clock_) return false;  // what this very call stored stays
  idle_.erase(idle_.begin());
  node->snapshots.erase(position);
  bytes_ -= snapshot_bytes_;
  return true;
}

bool PrefixCache::drop_oldest_leaf() {
  if (leaves_.empty()) return false;
  auto entry = leaves_.extract(leaves_.begin());
  Node *oldest = entry.value().second, *parent = oldest->parent;
  for (const auto& [position, snapshot] : oldest->snapshots) idle_.erase({snapshot.used, position, oldest});
  bytes_ -= node_bytes(*oldest);
  parent->children.erase(oldest->tokens[0]);
  if (!parent->children.empty()) return true;
  if (!parent->parent) {  // a whole variant is gone
    std::erase_if(roots_, [&](const auto& r) { return r.second.get() == parent; });
    return true;
  }
  entry.value() = {parent->used, parent};
  leaves_.insert(std::move(entry));
  return true;
}

}  // namespace quern::infer
