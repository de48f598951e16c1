#include "quern/infer/cache/piece_index.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::infer {

std::vector<PieceIndex::Step> PieceIndex::walk(const PrefixText& text) const {
  std::vector<Step> path;
  const auto root = roots_.find(text.variant);
  if (root == roots_.end()) return path;
  const std::span<const int32_t> tokens = text.tokens;
  const IndexedPiece* piece = root->second.get();
  for (size_t at = 0; at < tokens.size();) {
    const auto child = piece->children.find({static_cast<int64_t>(at), tokens[at]});
    if (child == piece->children.end()) break;
    piece = child->second;
    const std::vector<int32_t>& here = piece->facts.tokens;
    const auto same =
        std::mismatch(here.begin(), here.end(), tokens.begin() + static_cast<std::ptrdiff_t>(at), tokens.end())
            .first -
        here.begin();
    at += static_cast<size_t>(same);
    path.push_back({child->second, static_cast<int64_t>(at)});
  }
  return path;
}

IndexedPiece* PieceIndex::find(const std::string& id) const {
  const auto it = pieces_.find(id);
  return it == pieces_.end() ? nullptr : it->second.get();
}

IndexedPiece* PieceIndex::add(PieceFacts facts, IndexedFile file, double used) {
  std::string id = facts.id();
  if (find(id) || facts.tokens.empty()) return nullptr;
  IndexedPiece* parent = nullptr;
  if (!facts.parent.empty()) {
    parent = find(facts.parent);
    if (!parent || facts.begin <= parent->facts.begin || facts.begin > parent->facts.end() ||
        parent->facts.variant != facts.variant)
      return nullptr;
  } else if (facts.begin != 0) {
    return nullptr;
  } else {
    auto root = roots_.find(facts.variant);
    if (root == roots_.end()) root = roots_.emplace(facts.variant, std::make_unique<IndexedPiece>()).first;
    parent = root->second.get();
  }
  const std::pair<int64_t, int32_t> key{facts.begin, facts.tokens[0]};
  if (parent->children.contains(key)) return nullptr;
  auto piece = std::make_unique<IndexedPiece>(IndexedPiece{
      .facts = std::move(facts), .id = id, .parent = parent, .file = file, .used = used, .stamped = used});
  IndexedPiece* added = piece.get();
  pieces_.emplace(std::move(id), std::move(piece));
  parent->children.emplace(key, added);
  bytes_ += file.bytes, tokens_ += std::ssize(added->facts.tokens);
  return added;
}

void PieceIndex::add_snapshot(IndexedPiece& piece, int64_t position, IndexedFile file) {
  QUERN_CHECK(position > piece.facts.begin && position <= piece.facts.end());
  if (piece.snapshots.emplace(position, file).second) bytes_ += file.bytes;
}

void PieceIndex::erase(IndexedPiece& piece) {
  QUERN_CHECK(piece.children.empty());
  bytes_ -= piece.file.bytes, tokens_ -= std::ssize(piece.facts.tokens);
  for (const auto& [position, file] : piece.snapshots) bytes_ -= file.bytes;
  IndexedPiece* parent = piece.parent;
  parent->children.erase({piece.facts.begin, piece.facts.tokens[0]});
  if (parent->facts.tokens.empty() && parent->children.empty())
    std::erase_if(roots_, [&](const auto& r) { return r.second.get() == parent; });
  pieces_.erase(std::string(piece.id));
}

void PieceIndex::erase_snapshot(IndexedPiece& piece, int64_t position) {
  const auto it = piece.snapshots.find(position);
  if (it == piece.snapshots.end()) return;
  bytes_ -= it->second.bytes;
  piece.snapshots.erase(it);
}

std::vector<IndexedPiece*> PieceIndex::subtree(IndexedPiece& piece) const {
  std::vector<IndexedPiece*> all{&piece};
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& [key, child] : all[i]->children) all.push_back(child);
  std::ranges::reverse(all);
  return all;
}

IndexedPiece* PieceIndex::oldest_leaf() const {
  IndexedPiece* oldest = nullptr;
  for (const auto& [id, piece] : pieces_)
    if (piece->children.empty() && (!oldest || piece->used < oldest->used)) oldest = piece.get();
  return oldest;
}

void PieceIndex::resize(IndexedFile& file, int64_t bytes) {
  bytes_ += bytes - file.bytes;
  file.bytes = bytes;
}

std::vector<CacheEdge> PieceIndex::edges(double now) const {
  std::vector<CacheEdge> out;
  std::vector<std::pair<const IndexedPiece*, int64_t>> open;  // and the number of the edge before it
  for (const auto& [variant, root] : roots_) open.emplace_back(root.get(), -1);
  while (!open.empty()) {
    const auto [piece, parent] = open.back();
    open.pop_back();
    int64_t mine = parent;
    if (!piece->facts.tokens.empty()) {
      mine = std::ssize(out);
      CacheEdge e{.parent = parent,
                  .variant = piece->facts.variant,
                  .begin = piece->facts.begin,
                  .tokens = piece->facts.tokens,
                  .bytes = piece->file.bytes,
                  .hits = piece->hits,
                  .age = std::max(0.0, now - piece->used)};
      for (const auto& [position, file] : piece->snapshots) e.snapshots.push_back(position), e.bytes += file.bytes;
      out.push_back(std::move(e));
    }
    for (const auto& [key, child] : piece->children) open.emplace_back(child, mine);
  }
  return out;
}

}  // namespace quern::infer
