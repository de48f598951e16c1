#include "quern/infer/prefix_cache.h"

#include <algorithm>

#include "quern/base/free_blocks.h"

namespace quern {

struct PrefixCache::Node {
  Node* parent = nullptr;
  std::vector<int32_t> tokens;                        // of the edge into this node
  int64_t begin = 0;                                  // position of tokens[0]
  std::vector<Tensor> rows;                           // one per per-token part: [tokens, …]
  std::map<int64_t, Snapshot> cuts;                   // by position, begin < position ≤ end
  std::map<int32_t, std::unique_ptr<Node>> children;  // by their first token
  uint64_t used = 0;

  int64_t length() const { return static_cast<int64_t>(tokens.size()); }
  int64_t end() const { return begin + length(); }
};

namespace {

constexpr int64_t kTreeEntry = 48, kShared = 64;  // what a std::map adds to its values, and a tensor to its block

int64_t block_of(int64_t bytes) {
  return static_cast<int64_t>(block_bytes(static_cast<size_t>(bytes)) + sizeof(Tensor)) + kShared;
}

}  // namespace

PrefixCache::PrefixCache(std::vector<StateSite> sites, int64_t budget_bytes)
    : sites_(std::move(sites)), budget_(budget_bytes), root_(std::make_unique<Node>()) {
  for (size_t s = 0; s < sites_.size(); ++s) {
    const StateSpec& spec = sites_[s].spec;
    for (size_t p = 0; p < spec.parts.size(); ++p) {
      const StatePart& part = spec.parts[p];
      (part.per_token ? rows_ : fixed_).emplace_back(static_cast<int>(s), static_cast<int>(p));
      const int64_t bytes = element_count(part.shape) * dtype_size(part.dtype);
      if (part.per_token)
        row_bytes_.push_back(bytes);
      else
        snapshot_bytes_ += block_of(bytes);
    }
  }
  needs_snapshots_ = !fixed_.empty();
  if (needs_snapshots_) snapshot_bytes_ += static_cast<int64_t>(sizeof(Snapshot)) + kTreeEntry;
}

PrefixCache::~PrefixCache() { clear(); }

int64_t PrefixCache::edge_bytes(int64_t tokens) const {
  int64_t n = static_cast<int64_t>(sizeof(Node)) + kTreeEntry + tokens * static_cast<int64_t>(sizeof(int32_t));
  for (int64_t bytes : row_bytes_) n += block_of(tokens * bytes);
  return n;
}

int64_t PrefixCache::node_bytes(const Node& node) const {
  return edge_bytes(node.length()) + static_cast<int64_t>(node.cuts.size()) * snapshot_bytes_;
}

// A long conversation is a long chain of nodes: taken apart leaf by leaf, not by destructors calling each other.
void PrefixCache::clear() {
  std::vector<std::unique_ptr<Node>> open;
  open.push_back(std::move(root_));
  while (!open.empty()) {
    std::unique_ptr<Node> n = std::move(open.back());
    open.pop_back();
    for (auto& [token, child] : n->children) open.push_back(std::move(child));
  }
  root_ = std::make_unique<Node>();
  bytes_ = 0;
}

std::vector<PrefixCache::Step> PrefixCache::walk(std::span<const int32_t> tokens) const {
  std::vector<Step> path;
  Node* node = root_.get();
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

int64_t PrefixCache::known(std::span<const int32_t> tokens) const {
  std::vector<Step> path = walk(tokens);
  return path.empty() ? 0 : path.back().node->begin + path.back().length;
}

PrefixMatch PrefixCache::resume(std::span<const int32_t> tokens, int64_t limit, SequenceState& fresh,
                                int64_t aligned) {
  QUERN_CHECK(fresh.length() == 0 && limit <= static_cast<int64_t>(tokens.size()));
  ++clock_;
  std::vector<Step> path = walk(tokens);
  PrefixMatch m;
  for (const Step& s : path) m.matched += s.length, s.node->used = clock_;
  Snapshot* from = nullptr;
  int64_t reach = std::min(m.matched, limit);
  if (!needs_snapshots_) m.cached = reach / aligned * aligned;
  for (const Step& s : path)
    for (auto& [position, snapshot] : s.node->cuts)
      if (position <= reach && position % aligned == 0) from = &snapshot, m.cached = position;

  for (const Step& s : path) {
    int64_t n = std::min(s.node->length(), m.cached - s.node->begin);
    if (n <= 0) break;
    for (size_t i = 0; i < rows_.size(); ++i)
      fresh.append(rows_[i].first, rows_[i].second, n).copy_from(s.node->rows[i].narrow(0, 0, n));
  }
  if (from) {
    from->used = clock_, from->resumed = true;
    for (size_t i = 0; i < fixed_.size(); ++i)
      fresh.fixed(fixed_[i].first, fixed_[i].second).copy_from(from->fixed[i]);
  }
  fresh.advance(m.cached);

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

// What needs memory first, what changes the tree after it: an engine goes on when there is none left.
void PrefixCache::split(Node& node, int64_t length) {
  auto tail = std::make_unique<Node>();
  tail->parent = &node;
  tail->begin = node.begin + length;
  tail->tokens.assign(node.tokens.begin() + length, node.tokens.end());
  tail->used = node.used;
  std::vector<Tensor> head;
  for (const Tensor& r : node.rows) {
    tail->rows.push_back(r.narrow(0, length, r.dim(0) - length).clone());
    head.push_back(r.narrow(0, 0, length).clone());
  }
  std::map<int32_t, std::unique_ptr<Node>> only_child;
  auto& child = only_child[tail->tokens[0]];

  bytes_ += edge_bytes(length) + edge_bytes(node.length() - length) - edge_bytes(node.length());
  node.rows = std::move(head);
  for (auto& [token, grandchild] : node.children) grandchild->parent = tail.get();
  tail->children = std::move(node.children);
  for (auto first = node.cuts.upper_bound(tail->begin); first != node.cuts.end();)
    tail->cuts.insert(node.cuts.extract(first++));
  node.tokens.resize(static_cast<size_t>(length));
  child = std::move(tail);
  node.children = std::move(only_child);
}

void PrefixCache::put_snapshot(Node& node, int64_t position, const SequenceState& state, CutKind kind) {
  if (auto known = node.cuts.find(position); known != node.cuts.end()) {
    known->second.kind = std::max(kind, known->second.kind);
    known->second.used = clock_;
    return;
  }
  Snapshot made;
  made.kind = kind, made.used = clock_;
  for (auto [site, part] : fixed_) made.fixed.push_back(state.fixed(site, part).clone());
  node.cuts.emplace(position, std::move(made));
  bytes_ += snapshot_bytes_;
}

void PrefixCache::store(std::span<const int32_t> tokens, const SequenceState& rows, const SequenceState& fixed,
                        CutKind kind) {
  int64_t n = static_cast<int64_t>(tokens.size());
  QUERN_CHECK(fixed.length() == n && rows.length() >= n, "states of {} and {} tokens stored under {}", rows.length(),
              fixed.length(), n);
  if (n == 0 || !takes(n)) return;  // it would push out everything, itself included
  ++clock_;
  std::vector<Step> path = walk(tokens);
  for (const Step& s : path) s.node->used = clock_;
  Node* node = path.empty() ? root_.get() : path.back().node;
  int64_t at = path.empty() ? 0 : node->begin + path.back().length;
  if (at < n) {
    if (at < node->end()) split(*node, at - node->begin);
    auto leaf = std::make_unique<Node>();
    leaf->parent = node;
    leaf->begin = at;
    leaf->tokens.assign(tokens.begin() + at, tokens.end());
    leaf->used = clock_;
    for (auto [site, part] : rows_) leaf->rows.push_back(rows.rows(site, part).narrow(0, at, n - at).clone());
    Node* added = leaf.get();
    node->children.emplace(tokens[static_cast<size_t>(at)], std::move(leaf));
    bytes_ += edge_bytes(n - at);
    node = added;
  }
  if (needs_snapshots_) put_snapshot(*node, n, fixed, kind);
  shrink();
}

void PrefixCache::shrink() {
  while (bytes_ > budget_ && (drop_idle_grid_snapshot() || drop_oldest_leaf())) {
  }
}

std::vector<PrefixCache::Node*> PrefixCache::nodes() const {
  std::vector<Node*> all = {root_.get()};
  for (size_t i = 0; i < all.size(); ++i)
    for (auto& [token, child] : all[i]->children) all.push_back(child.get());
  return all;
}

bool PrefixCache::drop_idle_grid_snapshot() {
  Node* oldest = nullptr;
  int64_t position = 0;
  uint64_t used = clock_;  // what this very call stored stays
  for (Node* n : nodes())
    for (auto& [p, s] : n->cuts)
      if (s.kind == CutKind::grid && !s.resumed && s.used < used) oldest = n, position = p, used = s.used;
  if (!oldest) return false;
  oldest->cuts.erase(position);
  bytes_ -= snapshot_bytes_;
  return true;
}

bool PrefixCache::drop_oldest_leaf() {
  Node* oldest = nullptr;
  for (Node* n : nodes())
    if (n->children.empty() && n != root_.get() && (!oldest || n->used < oldest->used)) oldest = n;
  if (!oldest) return false;
  bytes_ -= node_bytes(*oldest);
  oldest->parent->children.erase(oldest->tokens[0]);
  return true;
}

}  // namespace quern
