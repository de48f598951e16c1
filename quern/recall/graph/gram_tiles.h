// Rows by column, tile by tile of 6144 rows: the position of a column's rows in a tile is looked up, not searched for.
// A column that has fewer rows than there are tiles, or than eight, is not laid out, so that tables take no more room
// than entries: such columns come first, because terms are numbered by rising frequency. Columns in another order are
// laid out while the tables have at most four numbers per entry, and none after that.
#pragma once
#include <cstdint>
#include <vector>

#include "quern/recall/bm25/embed.h"

namespace quern::recall {

struct GramTile {
  std::vector<uint32_t> begin;  // of a column's entries, by its number
  std::vector<uint16_t> place;  // row % kWidth, ascending
  std::vector<float> value;
};

class GramTiles {
 public:
  static constexpr uint32_t kWidth = 6144;  // sums of 24 KiB: three quarters of the first cache
  // documents: rows of each column; kept: columns that open pairs, empty for all. In parallel over tiles.
  GramTiles(const SparseRows& x, const std::vector<uint32_t>& documents, const std::vector<bool>& kept);
  bool empty() const { return tiles_.empty(); }     // no column is laid out
  uint32_t first_column() const { return first_; }  // of those laid out; a column's number is counted from it
  const GramTile& operator[](size_t t) const { return tiles_[t]; }

 private:
  uint32_t first_ = 0;
  std::vector<GramTile> tiles_;
};

}  // namespace quern::recall
