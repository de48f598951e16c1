// y = x·Wᵀ by matrix tiles (kernels/cpu/amx.h), for any number of rows: one matrix, or several of one shape, each with
// rows of its own, like the experts of a mixture. Rows are staged as tiles; a panel of 64 columns is read where it lies,
// copied or unpacked, as AmxPanels says. Every row count takes this path and sums over steps of k in order, so a row's
// bits depend neither on the rows beside it nor on the number of threads.
#pragma once
#include <functional>
#include <span>

#include "quern/base/arena.h"
#include "quern/kernels/cpu/amx.h"
#include "quern/tensor/view.h"

namespace quern::kernels {

// Rows of x against one matrix, staged: groups of 32 rows, [step][strip][16 rows][64 bytes]; up to 16 rows are one strip.
struct AmxRows {
  int64_t begin = 0, rows = 0;
  const uint8_t* tiles = nullptr;

  static int64_t strips(int64_t rows) { return rows <= kAmxRows ? 1 : (rows + 31) / 32 * 2; }
  static int64_t bytes(int64_t rows, int64_t steps) { return strips(rows) * steps * kAmxTile; }
  // Where the 64 bytes of row i and step s lie, i counted within the group.
  static int64_t at(int64_t rows, int64_t steps, int64_t i, int64_t s) {
    const int64_t side = rows <= kAmxRows ? 1 : 2;
    return i / (16 * side) * side * steps * kAmxTile + (side * s + i % (16 * side) / 16) * kAmxTile + i % 16 * 64;
  }
};

// The matrices, in panels of 64 columns: a step is 16 rows of 256 bytes (amx.h).
class AmxPanels {
 public:
  int64_t panels = 0, steps = 0, columns = 0;
  int64_t in_place = 0;  // steps of a panel, from the first on, that can be read where panel() says

  virtual ~AmxPanels() = default;
  virtual const uint8_t* panel(size_t group, int64_t p) const = 0;
  // Steps [first, first + n) of a panel, zeros behind the last value of k.
  virtual void unpack(size_t group, int64_t p, int64_t first, int64_t n, uint8_t* to) const = 0;
  // Sums of rows [row, row + rows) of x, tiles [4][16][16] of f32 or i32; columns past `columns` are not meant.
  virtual void finish(size_t group, int64_t row, int64_t rows, int64_t p, const void* sums) const = 0;
};

void amx_product(const AmxBlocks& blocks, std::span<const AmxRows> groups, const AmxPanels& w);

// Rows as tiles, in groups of the given numbers of rows: line(i, to) writes the 64 · steps bytes of row i.
std::span<AmxRows> amx_stage(std::span<const AmxRows> groups, int64_t steps, Arena& scratch,
                             const std::function<void(int64_t, uint8_t*)>& line);
// Of bf16.
std::span<AmxRows> amx_stage(View<const float, 2> x, int64_t steps, std::span<const AmxRows> groups, Arena& scratch);
// The same of xᵀ: x [K, M] gives M rows.
AmxRows amx_stage_transposed(View<const float, 2> x, int64_t steps, Arena& scratch);

}  // namespace quern::kernels
