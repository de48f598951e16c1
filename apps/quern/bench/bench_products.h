// Matrix products by the instructions that were chosen, beside every other kind this machine has.
#pragma once
#include <cstdint>

namespace quern::cli {

struct ProductBenchOptions {
  int64_t reps = 15;
  bool json = false;
};
int bench_products(const ProductBenchOptions& options);

}  // namespace quern::cli
