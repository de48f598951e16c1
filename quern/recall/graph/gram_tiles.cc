// Counting, then filling, tile by tile.
#include "quern/recall/graph/gram_tiles.h"

#include <algorithm>

#include "quern/base/threads.h"

namespace quern::recall {
namespace {

constexpr size_t kFewest = 8;    // rows of a column that is laid out
constexpr double kMaxTable = 4;  // numbers an entry, of columns in no order

}  // namespace

GramTiles::GramTiles(const SparseRows& x, const std::vector<uint32_t>& documents, const std::vector<bool>& kept) {
  const size_t tiles = (x.rows() + kWidth - 1) / kWidth;
  if (std::is_sorted(documents.begin(), documents.end()))
    first_ = static_cast<uint32_t>(std::lower_bound(documents.begin(), documents.end(), std::max(kFewest, tiles)) -
                                   documents.begin());
  else if (static_cast<double>(tiles) * x.columns > kMaxTable * static_cast<double>(x.column.size()))
    first_ = x.columns;
  if (first_ == x.columns) return;
  tiles_.resize(tiles);
  parallel_dynamic(static_cast<int64_t>(tiles), [&](int64_t i) {
    GramTile& tile = tiles_[static_cast<size_t>(i)];
    const size_t from = static_cast<size_t>(i) * kWidth, end = std::min<size_t>(x.rows(), from + kWidth);
    const auto has = [&](uint32_t c) { return c >= first_ && (kept.empty() || kept[c]); };
    tile.begin.assign(x.columns - first_ + 2, 0);  // counted two further on, so that filling leaves begins
    for (uint64_t k = x.begin[from]; k < x.begin[end]; ++k)
      if (const uint32_t c = x.column[k]; has(c)) ++tile.begin[c - first_ + 2];
    for (size_t v = 2; v < tile.begin.size(); ++v) tile.begin[v] += tile.begin[v - 1];
    tile.place.resize(tile.begin.back()), tile.value.resize(tile.begin.back());
    for (size_t r = from; r < end; ++r)
      for (uint64_t k = x.begin[r]; k < x.begin[r + 1]; ++k)
        if (const uint32_t c = x.column[k]; has(c)) {
          const uint32_t at = tile.begin[c - first_ + 1]++;
          tile.place[at] = static_cast<uint16_t>(r - from), tile.value[at] = x.value[k];
        }
    tile.begin.pop_back();
  });
}

}  // namespace quern::recall
