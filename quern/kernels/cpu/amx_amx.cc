// amx.h by the instructions. They are written as assembly: GCC 12's header declares only a part of the configuration as
// read, and no memory at all for loads of tiles, so that stores could be moved past them. A tile's number is part of the
// instruction, so each block is one function with tiles 0–3 for C, 4–5 for A and 5–7 for B.
#include <immintrin.h>

#include "quern/kernels/cpu/amx.h"

namespace {

using quern::kernels::AmxBlock;

#define TILE_LOAD(tile, at, row) asm volatile("tileloadd (%0,%1,1), %%tmm" #tile : : "r"(at), "r"(row) : "memory")
#define TILE_STORE(tile, at) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" : : "r"(at), "r"(int64_t{64}) : "memory")
#define TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile : : :)
#define TILE_DOT(op, c, a, b) asm volatile(op " %%tmm" #b ", %%tmm" #a ", %%tmm" #c : : :)

inline void fetch(const AmxBlock& t, const uint8_t* b) {
  if (t.ahead == 0) return;
#pragma GCC unroll 64
  for (int64_t i = 0; i < 4 * quern::kernels::kAmxTile; i += 64) _mm_prefetch(b + t.ahead + i, _MM_HINT_T0);
}

// Loads before products: they then come from the second-level cache while the products of the step before run.
#define BLOCKS(NAME, OP)                                                                               \
  void NAME##_2x2(const AmxBlock& t) {                                                                 \
    const uint8_t *a0 = t.a, *a1 = t.a + t.a_strip, *b0 = t.b, *b1 = t.b + t.b_tile;                   \
    uint8_t *c0 = t.c, *c1 = t.c + t.c_strip;                                                          \
    if (t.add) {                                                                                       \
      TILE_LOAD(0, c0, int64_t{64});                                                                   \
      TILE_LOAD(1, c0 + 1024, int64_t{64});                                                            \
      TILE_LOAD(2, c1, int64_t{64});                                                                   \
      TILE_LOAD(3, c1 + 1024, int64_t{64});                                                            \
    } else {                                                                                           \
      TILE_ZERO(0);                                                                                    \
      TILE_ZERO(1);                                                                                    \
      TILE_ZERO(2);                                                                                    \
      TILE_ZERO(3);                                                                                    \
    }                                                                                                  \
    for (int64_t s = 0; s < t.steps; ++s) {                                                            \
      TILE_LOAD(6, b0, t.b_row);                                                                       \
      TILE_LOAD(4, a0, t.a_row);                                                                       \
      TILE_LOAD(7, b1, t.b_row);                                                                       \
      TILE_LOAD(5, a1, t.a_row);                                                                       \
      TILE_DOT(OP, 0, 4, 6);                                                                           \
      TILE_DOT(OP, 1, 4, 7);                                                                           \
      TILE_DOT(OP, 2, 5, 6);                                                                           \
      TILE_DOT(OP, 3, 5, 7);                                                                           \
      a0 += t.a_step, a1 += t.a_step, b0 += t.b_step, b1 += t.b_step;                                  \
    }                                                                                                  \
    TILE_STORE(0, c0);                                                                                 \
    TILE_STORE(1, c0 + 1024);                                                                          \
    TILE_STORE(2, c1);                                                                                 \
    TILE_STORE(3, c1 + 1024);                                                                          \
  }                                                                                                    \
  void NAME##_1x2(const AmxBlock& t) {                                                                 \
    const uint8_t *a0 = t.a, *b0 = t.b, *b1 = t.b + t.b_tile;                                          \
    if (t.add) {                                                                                       \
      TILE_LOAD(0, t.c, int64_t{64});                                                                  \
      TILE_LOAD(1, t.c + 1024, int64_t{64});                                                           \
    } else {                                                                                           \
      TILE_ZERO(0);                                                                                    \
      TILE_ZERO(1);                                                                                    \
    }                                                                                                  \
    for (int64_t s = 0; s < t.steps; ++s) {                                                            \
      TILE_LOAD(6, b0, t.b_row);                                                                       \
      TILE_LOAD(4, a0, t.a_row);                                                                       \
      TILE_LOAD(7, b1, t.b_row);                                                                       \
      TILE_DOT(OP, 0, 4, 6);                                                                           \
      TILE_DOT(OP, 1, 4, 7);                                                                           \
      a0 += t.a_step, b0 += t.b_step, b1 += t.b_step;                                                  \
    }                                                                                                  \
    TILE_STORE(0, t.c);                                                                                \
    TILE_STORE(1, t.c + 1024);                                                                         \
  }                                                                                                    \
  void NAME##_1x4(const AmxBlock& t) {                                                                 \
    const uint8_t *a0 = t.a, *b0 = t.b, *b1 = b0 + t.b_tile, *b2 = b1 + t.b_tile, *b3 = b2 + t.b_tile; \
    if (t.add) {                                                                                       \
      TILE_LOAD(0, t.c, int64_t{64});                                                                  \
      TILE_LOAD(1, t.c + 1024, int64_t{64});                                                           \
      TILE_LOAD(2, t.c + 2048, int64_t{64});                                                           \
      TILE_LOAD(3, t.c + 3072, int64_t{64});                                                           \
    } else {                                                                                           \
      TILE_ZERO(0);                                                                                    \
      TILE_ZERO(1);                                                                                    \
      TILE_ZERO(2);                                                                                    \
      TILE_ZERO(3);                                                                                    \
    }                                                                                                  \
    for (int64_t s = 0; s < t.steps; ++s) {                                                            \
      fetch(t, b0);                                                                                    \
      TILE_LOAD(4, a0, t.a_row);                                                                       \
      TILE_LOAD(5, b0, t.b_row);                                                                       \
      TILE_LOAD(6, b1, t.b_row);                                                                       \
      TILE_LOAD(7, b2, t.b_row);                                                                       \
      TILE_DOT(OP, 0, 4, 5);                                                                           \
      TILE_LOAD(5, b3, t.b_row);                                                                       \
      TILE_DOT(OP, 1, 4, 6);                                                                           \
      TILE_DOT(OP, 2, 4, 7);                                                                           \
      TILE_DOT(OP, 3, 4, 5);                                                                           \
      a0 += t.a_step, b0 += t.b_step, b1 += t.b_step, b2 += t.b_step, b3 += t.b_step;                  \
    }                                                                                                  \
    TILE_STORE(0, t.c);                                                                                \
    TILE_STORE(1, t.c + 1024);                                                                         \
    TILE_STORE(2, t.c + 2048);                                                                         \
    TILE_STORE(3, t.c + 3072);                                                                         \
  }

BLOCKS(bf16, "tdpbf16ps")
BLOCKS(bytes, "tdpbusd")

void to_tiles(const uint8_t* from, int64_t steps, uint8_t* to) {
  for (int64_t s = 0; s < steps; ++s, from += 4096, to += 4096)
    for (int64_t row = 0; row < 16; ++row)
#pragma GCC unroll 4
      for (int64_t tile = 0; tile < 4; ++tile)
        _mm512_storeu_si512(to + 1024 * tile + 64 * row, _mm512_loadu_si512(from + 256 * row + 64 * tile));
}

struct alignas(64) Configuration {  // eight tiles of 16 rows × 64 bytes
  uint8_t palette = 1, start_row = 0, unused[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(Configuration) == 64);

void configure() {
  static constexpr Configuration whole;
  asm volatile("ldtilecfg %0" : : "m"(whole) : "memory");
}

void release() { asm volatile("tilerelease" : : : "memory"); }

}  // namespace

namespace quern::kernels {

const AmxKernels& amx_kernels_amx() {
  static constexpr AmxKernels table{
      {bf16_2x2, bf16_1x2, bf16_1x4}, {bytes_2x2, bytes_1x2, bytes_1x4}, to_tiles, configure, release};
  return table;
}

}  // namespace quern::kernels
