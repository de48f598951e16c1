// What the prefix cache has on disk: a tree of pieces (piece_file.h), by their tokens. Pieces never change: a text that
// leaves one in its middle is a child there. Holds no states and touches no file; the owner guards it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quern/infer/cache/cache_edges.h"
#include "quern/infer/cache/piece_file.h"
#include "quern/infer/cache/prefix_text.h"

namespace quern::infer {

struct IndexedFile {
  int64_t bytes = 0;
  bool ready = false;  // false: it is still to be written
};

struct IndexedPiece {
  PieceFacts facts;
  std::string id;
  IndexedPiece* parent = nullptr;
  IndexedFile file = {};
  std::map<int64_t, IndexedFile> snapshots = {};                       // by position, begin < position ≤ end
  std::map<std::pair<int64_t, int32_t>, IndexedPiece*> children = {};  // by begin and first token
  double used = 0, stamped = 0;                                        // Unix time; what its file says
  int64_t hits = 0;                                                    // times that rows were read from it
};

class PieceIndex {
 public:
  struct Step {
    IndexedPiece* piece;
    int64_t end;  // position up to which its tokens matched
  };
  std::vector<Step> walk(const PrefixText& text) const;
  IndexedPiece* find(const std::string& id) const;  // null: unknown
  // Null where its id is taken, or its parent is unknown or ends before it begins.
  IndexedPiece* add(PieceFacts facts, IndexedFile file, double used);
  void add_snapshot(IndexedPiece& piece, int64_t position, IndexedFile file);
  void erase(IndexedPiece& piece);  // which has no children
  void erase_snapshot(IndexedPiece& piece, int64_t position);
  std::vector<IndexedPiece*> subtree(IndexedPiece& piece) const;  // children before their parents, itself last
  IndexedPiece* oldest_leaf() const;                              // null: it is empty
  void resize(IndexedFile& file, int64_t bytes);                  // once it is written
  int64_t bytes() const { return bytes_; }
  int64_t count() const { return static_cast<int64_t>(pieces_.size()); }
  int64_t tokens() const { return tokens_; }
  std::vector<CacheEdge> edges(double now) const;

 private:
  std::map<std::string, std::unique_ptr<IndexedPiece>> pieces_;              // by id
  std::map<std::string, std::unique_ptr<IndexedPiece>, std::less<>> roots_;  // by variant; of no tokens and no file
  int64_t bytes_ = 0, tokens_ = 0;
};

}  // namespace quern::infer
