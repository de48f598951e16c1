// Selects the tile kernels: by the instruction set in use, and bf16 products where the CPU has them.
#include "quern/kernels/gemm/tile.h"

#include "quern/base/cpu.h"
#include "quern/base/error.h"

namespace quern::kernels {

const TileKernels& tile_kernels() {
  QUERN_CHECK(active_isa() != Isa::ref);
  if (active_isa() == Isa::avx2) return tile_kernels_avx2();
  return has_avx512_bf16() ? tile_kernels_avx512bf16() : tile_kernels_avx512();
}

}  // namespace quern::kernels
