// Selects the tile kernels: by the instruction set in use, and bf16 products by vdpbf16ps where they are the chosen ones.
#include "quern/kernels/gemm/tile.h"

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/kernels/cpu/products.h"

namespace quern::kernels {

const TileKernels& tile_kernels() {
  QUERN_CHECK(active_isa() != Isa::ref);
  if (active_isa() == Isa::avx2) return tile_kernels_avx2();
  if (!has_avx512_bf16()) return tile_kernels_avx512();
  return bf16_products() == Bf16Products::vdpbf16 ? tile_kernels_avx512bf16() : tile_kernels_avx512bf16_fma();
}

}  // namespace quern::kernels
