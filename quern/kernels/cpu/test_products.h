// Kernel tests of bf16 products: every instruction set this machine has, each with every kind of bf16 products, matrix
// tiles at least emulated.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "quern/kernels/cpu/products.h"
#include "quern/kernels/test_util.h"

namespace quern::kernels {

template <class F>
void each_products(F&& f) {
  each_isa([&] {
    for (Bf16Products p : {Bf16Products::fma, Bf16Products::vdpbf16, Bf16Products::amx, Bf16Products::emulated}) {
      if (!has_bf16_products(p)) continue;
      const Bf16ProductsScope products(p);
      if (bf16_products() != p) continue;  // not under this instruction set
      SCOPED_TRACE(std::string(bf16_products_name(p)));
      f();
    }
  });
}

// Matrix tiles, by the instructions where there are any; for tests of what holds for them alone.
class TilesScope {
 public:
  TilesScope() : scope_(has_amx() ? Bf16Products::amx : Bf16Products::emulated) {}

 private:
  Bf16ProductsScope scope_;
};

}  // namespace quern::kernels
