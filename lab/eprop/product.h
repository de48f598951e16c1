// The three matrix products of a layer in double precision. Matrices are row-major; activations are [units, batch]
// with the batch innermost, so that every loop runs over contiguous memory. All of them accumulate.
#pragma once
#include <cstdint>
#include <span>

namespace quern::lab {

using Numbers = std::span<double>;
using ConstNumbers = std::span<const double>;

struct ProductShape {
  int64_t rows, columns, batch;
};

void add_product(ProductShape s, ConstNumbers a, ConstNumbers x, Numbers y);             // y += a x
void add_product_transposed(ProductShape s, ConstNumbers a, ConstNumbers y, Numbers x);  // x += aᵀ y
void add_outer(ProductShape s, ConstNumbers y, ConstNumbers x, Numbers a);               // a += y xᵀ

}  // namespace quern::lab
