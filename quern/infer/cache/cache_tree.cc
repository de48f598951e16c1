// Edges are laid into the tree one by one. A stretch that ends inside a node splits it: the node itself stays the part
// behind the split, so that what remembers it as the end of a stretch goes on being right.
#include "quern/infer/cache/cache_tree.h"

#include <algorithm>
#include <map>

namespace quern::infer {
namespace {

enum class Place { memory, disk };

class Merge {
 public:
  void lay(const std::vector<CacheEdge>& edges, Place place) {
    ends_.assign(edges.size(), {});
    std::vector<std::vector<int64_t>> leave(edges.size());  // where others continue an edge
    for (const CacheEdge& e : edges)
      if (e.parent >= 0) leave[static_cast<size_t>(e.parent)].push_back(e.begin);
    for (size_t i = 0; i < edges.size(); ++i) {
      const CacheEdge& e = edges[i];
      CacheNode* at = e.parent < 0 ? root(e.variant) : ends_[static_cast<size_t>(e.parent)].at(e.begin);
      std::vector<int64_t>& stops = leave[i];
      stops.push_back(e.begin + std::ssize(e.tokens));
      std::ranges::sort(stops);
      int64_t from = e.begin;
      for (const int64_t stop : stops) {
        if (stop > from) at = stretch(at, e, from, stop, place);
        ends_[i][stop] = at, from = std::max(from, stop);
      }
    }
  }

  std::vector<std::unique_ptr<CacheNode>> take() {
    std::vector<std::unique_ptr<CacheNode>> out;
    for (auto& [variant, root] : roots_) out.push_back(std::move(root));
    return out;
  }

 private:
  CacheNode* root(const std::string& variant) {
    auto& r = roots_[variant];
    if (!r) r = std::make_unique<CacheNode>(CacheNode{.variant = variant});
    return r.get();
  }

  // Tokens [from, to) of an edge behind the end of `at`; the node that ends there.
  CacheNode* stretch(CacheNode* at, const CacheEdge& e, int64_t from, int64_t to, Place place) {
    while (from < to) {
      const auto first = e.tokens.begin() + (from - e.begin), last = e.tokens.begin() + (to - e.begin);
      auto child = std::ranges::find_if(at->children, [&](const auto& c) { return c->tokens[0] == *first; });
      if (child == at->children.end()) {
        auto made = std::make_unique<CacheNode>(CacheNode{.begin = from, .tokens = {first, last}, .age = e.age});
        child = at->children.insert(at->children.end(), std::move(made));
      }
      const std::vector<int32_t>& here = (*child)->tokens;
      const auto same = std::mismatch(here.begin(), here.end(), first, last).first - here.begin();
      if (same < std::ssize(here)) split(*child, same);
      add(**child, e, place);
      at = child->get(), from = at->end();
    }
    return at;
  }

  // The first `length` tokens become a node of their own, in the place of `node`, which is its only child.
  static void split(std::unique_ptr<CacheNode>& node, int64_t length) {
    auto head = std::make_unique<CacheNode>(CacheNode{.begin = node->begin,
                                                      .tokens = {node->tokens.begin(), node->tokens.begin() + length},
                                                      .in_memory = node->in_memory,
                                                      .on_disk = node->on_disk,
                                                      .hits = node->hits,
                                                      .age = node->age});
    const auto share = [&](int64_t bytes) { return bytes * length / std::ssize(node->tokens); };
    head->memory_bytes = share(node->memory_bytes), head->disk_bytes = share(node->disk_bytes);
    node->memory_bytes -= head->memory_bytes, node->disk_bytes -= head->disk_bytes;
    node->tokens.erase(node->tokens.begin(), node->tokens.begin() + length);
    node->begin += length;
    head->children.push_back(std::move(node));
    node = std::move(head);
  }

  // The share of the edge that the node is, and the snapshots in it.
  static void add(CacheNode& node, const CacheEdge& e, Place place) {
    const int64_t bytes = e.bytes * std::ssize(node.tokens) / std::ssize(e.tokens);
    const auto inside =
        std::ranges::count_if(e.snapshots, [&](int64_t p) { return p > node.begin && p <= node.end(); });
    (place == Place::memory ? node.in_memory : node.on_disk) = true;
    (place == Place::memory ? node.memory_bytes : node.disk_bytes) += bytes;
    (place == Place::memory ? node.snapshots_in_memory : node.snapshots_on_disk) += inside;
    node.hits = std::max(node.hits, e.hits), node.age = std::min(node.age, e.age);
  }

  std::map<std::string, std::unique_ptr<CacheNode>> roots_;
  std::vector<std::map<int64_t, CacheNode*>> ends_;  // of each edge: nodes that end where it may be left
};

// A node and its only child become one where both are at the same places.
void join(CacheNode& node) {
  std::vector<CacheNode*> open{&node};
  while (!open.empty()) {
    CacheNode& n = *open.back();
    open.pop_back();
    std::vector<std::unique_ptr<CacheNode>> gone;
    while (!n.tokens.empty() && n.children.size() == 1) {
      CacheNode& c = *n.children[0];
      if (c.in_memory != n.in_memory || c.on_disk != n.on_disk) break;
      n.tokens.insert(n.tokens.end(), c.tokens.begin(), c.tokens.end());
      n.memory_bytes += c.memory_bytes, n.disk_bytes += c.disk_bytes;
      n.snapshots_in_memory += c.snapshots_in_memory, n.snapshots_on_disk += c.snapshots_on_disk;
      n.hits = std::max(n.hits, c.hits), n.age = std::min(n.age, c.age);
      gone.push_back(std::move(n.children[0]));
      n.children = std::move(gone.back()->children);
    }
    for (const auto& child : n.children) open.push_back(child.get());
  }
}

}  // namespace

std::vector<std::unique_ptr<CacheNode>> cache_tree(const std::vector<CacheEdge>& memory,
                                                   const std::vector<CacheEdge>& disk) {
  Merge merge;
  merge.lay(memory, Place::memory);
  merge.lay(disk, Place::disk);
  auto roots = merge.take();
  for (const auto& root : roots) join(*root);
  return roots;
}

}  // namespace quern::infer
