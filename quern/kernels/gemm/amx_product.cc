// Items. Up to 16 rows: threads stream through whole panels, four tiles of columns at a time. More: items of up to 512
// rows × 8 panels, whose sums (1 MiB) stay in a second-level cache of 2 MiB; for every 512 values of k the item's panels
// are copied (or unpacked) tile by tile, once for all its rows, and each strip of 32 rows, whose tiles fit the
// first-level cache, passes them. Rows too few to pay for the copy read panels where they lie.
#include "quern/kernels/gemm/amx_product.h"

#include <algorithm>
#include <cstring>

#include "quern/base/threads.h"
#include "quern/kernels/gemm/tile.h"

namespace quern::kernels {
namespace {

constexpr int64_t kItemRows = 512, kItemPanels = 8;
constexpr int64_t kBlockSteps = 16;    // 512 values of bf16
constexpr int64_t kFewBlockSteps = 8;  // unpacked for a few rows: 32 KiB
constexpr int64_t kCopyRows = 64;      // from here on a copy of B is paid back
constexpr int64_t kStepBytes = 4 * kAmxTile;
constexpr int64_t kAhead = 2 * kStepBytes;  // of a stream from memory

struct Item {
  size_t group;
  int64_t strip, strips, panel, panels;
};

struct Block {  // steps of one panel
  const uint8_t* data;
  bool tiles;  // tile by tile, else rows of 256 bytes
};

class Product {
 public:
  Product(const AmxBlocks& blocks, std::span<const AmxRows> groups, const AmxPanels& w)
      : kernels_(amx_kernels()), blocks_(blocks), groups_(groups), w_(w) {}

  void run() {
    const bool few = std::all_of(groups_.begin(), groups_.end(), [](const AmxRows& g) { return g.rows <= kAmxRows; });
    if (few) {
      parallel_guided(static_cast<int64_t>(groups_.size()) * w_.panels, [&](int64_t begin, int64_t end) {
        const AmxScope scope(kernels_);
        for (int64_t i = begin; i < end; ++i)
          if (const auto g = static_cast<size_t>(i / w_.panels); groups_[g].rows > 0) few_rows(g, i % w_.panels);
      });
      return;
    }
    const std::vector<Item> items = cut();
    parallel_dynamic(static_cast<int64_t>(items.size()), [&](int64_t i) {
      const AmxScope scope(kernels_);
      const Item& item = items[static_cast<size_t>(i)];
      if (groups_[item.group].rows > kAmxRows) return many_rows(item);
      for (int64_t p = item.panel; p < item.panel + item.panels; ++p) few_rows(item.group, p);
    });
  }

 private:
  // Blocks of rows of equal size; neighboring items share panels.
  std::vector<Item> cut() const {
    std::vector<Item> items;
    for (int64_t panels = kItemPanels; panels >= 1; panels /= 2) {
      items.clear();
      for (int64_t p = 0; p < w_.panels; p += panels)
        for (size_t g = 0; g < groups_.size(); ++g) {
          const int64_t strips = (groups_[g].rows + kAmxRows - 1) / kAmxRows,
                        blocks = (groups_[g].rows + kItemRows - 1) / kItemRows, pairs = (strips + 1) / 2;
          for (int64_t b = 0; b < blocks; ++b) {
            const int64_t first = 2 * (pairs * b / blocks), last = std::min(strips, 2 * (pairs * (b + 1) / blocks));
            items.push_back({g, first, last - first, p, std::min(panels, w_.panels - p)});
          }
        }
      if (static_cast<int64_t>(items.size()) >= 2 * thread_count()) break;
    }
    return items;
  }

  // Sixteen columns hold a half panel's second part only where there are columns for it.
  int64_t halves(int64_t p) const { return w_.columns - 64 * p > 32 ? 2 : 1; }

  void few_rows(size_t g, int64_t p) const {
    alignas(64) uint8_t sums[kStepBytes];
    alignas(64) uint8_t unpacked[kFewBlockSteps * kStepBytes];
    const AmxRows& rows = groups_[g];
    AmxBlock t{.a = rows.tiles, .a_step = kAmxTile, .b_tile = 64, .b_step = kStepBytes, .b_row = 256, .c = sums};
    if (w_.in_place > 0 || w_.steps == 0) {
      t.b = w_.in_place > 0 ? w_.panel(g, p) : nullptr, t.steps = w_.in_place, t.ahead = kAhead;
      blocks_.one_by_four(t);
      t.add = true, t.ahead = 0;
    }
    for (int64_t s = w_.in_place; s < w_.steps; s += kFewBlockSteps) {
      t.steps = std::min(kFewBlockSteps, w_.steps - s);
      w_.unpack(g, p, s, t.steps, unpacked);
      t.a = rows.tiles + s * kAmxTile, t.b = unpacked;
      blocks_.one_by_four(t);
      t.add = true;
    }
    w_.finish(g, rows.begin, rows.rows, p, sums);
  }

  // Steps [first, first + n) of a panel, n up to kBlockSteps and on one side of in_place.
  Block prepare(size_t g, int64_t p, int64_t first, int64_t n, bool copy, uint8_t* to, uint8_t* unpacked) const {
    const bool there = first < w_.in_place;
    const uint8_t* from = there ? w_.panel(g, p) + first * kStepBytes : unpacked;
    if (!there) w_.unpack(g, p, first, n, copy ? unpacked : to);
    if (!copy) return {there ? from : to, false};
    kernels_.to_tiles(from, n, to);
    return {to, true};
  }

  void many_rows(const Item& item) const {
    const AmxRows& rows = groups_[item.group];
    Arena& arena = thread_arena();
    Arena::Scope scope(arena);
    const int64_t sums_strip = item.panels * kStepBytes, block = kBlockSteps * kStepBytes;
    uint8_t* sums = arena.take<uint8_t>(item.strips * sums_strip).data();
    uint8_t* copies = arena.take<uint8_t>(item.panels * block).data();
    uint8_t* unpacked = arena.take<uint8_t>(block).data();
    const bool copy = item.strips * kAmxRows >= kCopyRows;
    Block b[kItemPanels];
    int64_t n = 0;
    for (int64_t s = 0; s < w_.steps; s += n) {
      n = std::min(kBlockSteps, (s < w_.in_place ? w_.in_place : w_.steps) - s);
      for (int64_t p = 0; p < item.panels; ++p)
        b[p] = prepare(item.group, item.panel + p, s, n, copy, copies + p * block, unpacked);
      for (int64_t strip = 0; strip < item.strips; strip += 2) {
        const uint8_t* a = rows.tiles + ((item.strip + strip) * w_.steps + 2 * s) * kAmxTile;
        for (int64_t p = 0; p < item.panels; ++p)
          for (int64_t half = 0; half < halves(item.panel + p); ++half)
            (item.strips - strip > 1 ? blocks_.two_by_two : blocks_.one_by_two)(
                {.a = a,
                 .a_strip = kAmxTile,
                 .a_step = 2 * kAmxTile,
                 .b = b[p].data + half * (b[p].tiles ? 2048 : 128),
                 .b_tile = b[p].tiles ? kAmxTile : 64,
                 .b_step = kStepBytes,
                 .b_row = b[p].tiles ? 64 : 256,
                 .c = sums + strip * sums_strip + p * kStepBytes + half * 2048,
                 .c_strip = sums_strip,
                 .steps = n,
                 .add = s > 0});
      }
    }
    if (w_.steps == 0) std::memset(sums, 0, static_cast<size_t>(item.strips * sums_strip));
    for (int64_t strip = 0; strip < item.strips; ++strip) {
      const int64_t row = (item.strip + strip) * kAmxRows;
      for (int64_t p = 0; p < item.panels; ++p)
        w_.finish(item.group, rows.begin + row, std::min(kAmxRows, rows.rows - row), item.panel + p,
                  sums + strip * sums_strip + p * kStepBytes);
    }
  }

  const AmxKernels& kernels_;
  const AmxBlocks& blocks_;
  std::span<const AmxRows> groups_;
  const AmxPanels& w_;
};

}  // namespace

void amx_product(const AmxBlocks& blocks, std::span<const AmxRows> groups, const AmxPanels& w) {
  Product(blocks, groups, w).run();
}

std::span<AmxRows> amx_stage(std::span<const AmxRows> groups, int64_t steps, Arena& scratch,
                             const std::function<void(int64_t, uint8_t*)>& line) {
  const int64_t n = static_cast<int64_t>(groups.size());
  const std::span<AmxRows> staged = scratch.take<AmxRows>(n);
  const std::span<int64_t> ends = scratch.take<int64_t>(n);  // of the groups' rows with padding, one after the other
  int64_t all = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const int64_t rows = groups[g].rows;
    staged[g] = {groups[g].begin, rows, scratch.take<uint8_t>(AmxRows::bytes(rows, steps)).data()};
    ends[g] = all += AmxRows::strips(rows) * kAmxRows;
  }
  parallel_for(all, 32768 / (32 * steps + 1) + 1, [&](int64_t first, int64_t last) {
    Arena& arena = thread_arena();
    Arena::Scope scope(arena);
    uint8_t* row = arena.take<uint8_t>(kAmxStepBytes * steps).data();
    auto g = static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), first) - ends.begin());
    for (int64_t at = first; at < last; ++at) {
      while (at >= ends[g]) ++g;
      const AmxRows& r = staged[g];
      const int64_t i = at - (g > 0 ? ends[g - 1] : 0);
      const bool there = i < r.rows;
      if (there) line(r.begin + i, row);
      for (int64_t s = 0; s < steps; ++s) {
        uint8_t* to = const_cast<uint8_t*>(r.tiles) + AmxRows::at(r.rows, steps, i, s);
        there ? std::memcpy(to, row + kAmxStepBytes * s, kAmxStepBytes) : std::memset(to, 0, kAmxStepBytes);
      }
    }
  });
  return staged;
}

std::span<AmxRows> amx_stage(View<const float, 2> x, int64_t steps, std::span<const AmxRows> groups, Arena& scratch) {
  const TileKernels& tile = tile_kernels();
  return amx_stage(groups, steps, scratch, [&](int64_t i, uint8_t* to) {
    tile.to_bf16(x.row(i), x.shape[1], 32 * steps, reinterpret_cast<uint16_t*>(to));
  });
}

AmxRows amx_stage_transposed(View<const float, 2> x, int64_t steps, Arena& scratch) {
  const int64_t k = x.shape[0], m = x.shape[1];
  uint8_t* to = scratch.take<uint8_t>(AmxRows::bytes(m, steps)).data();
  const TileKernels& tile = tile_kernels();
  const int64_t strips = AmxRows::strips(m);
  parallel_for(strips, 1, [&](int64_t first, int64_t last) {
    alignas(64) uint32_t pairs[16 * 16];  // [pair of k][column]
    alignas(64) static constexpr float kZeros[16] = {};
    for (int64_t strip = first; strip < last; ++strip)
      for (int64_t s = 0; s < steps; ++s) {
        const int64_t column = strip * kAmxRows, n = std::clamp<int64_t>(m - column, 0, kAmxRows);
        std::memset(pairs, 0, sizeof pairs);
        for (int64_t p = 0; p < 16 && n > 0; ++p) {
          const int64_t row = 32 * s + 2 * p;
          if (row >= k) break;
          tile.pair(x.row(row) + column, row + 1 < k ? x.row(row + 1) + column : kZeros, n, pairs + 16 * p);
        }
        tile.transpose(pairs, 16, 16, 16, reinterpret_cast<uint32_t*>(to + AmxRows::at(m, steps, column, s)), 16);
      }
  });
  return {0, m, to};
}

}  // namespace quern::kernels
