// Prepacked matrices back in f32: rows against single rows, bit for bit, and products with the matrix itself against sums
// taken in the order of its rows.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/bf16.h"
#include "quern/base/rng.h"
#include "quern/kernels/cpu/test_products.h"
#include "quern/kernels/quant/prepacked_weight.h"

namespace quern::kernels {
namespace {

const QuantFormat kFormats[] = {{WeightFormat::q8},           {WeightFormat::q4, 32},       {WeightFormat::q4, 64},
                                {WeightFormat::q4, 32, true}, {WeightFormat::q4, 64, true}, QuantFormat(DType::bf16),
                                QuantFormat(DType::f32)};
struct Size {
  int64_t n, k;
};
constexpr Size kSizes[] = {{64, 64}, {1, 1}, {130, 65}, {200, 301}, {70, 128}, {330, 40}};

Tensor noise(Shape shape, uint64_t seed) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  Rng rng(seed);
  for (float& x : t.span<float>()) x = static_cast<float>(rng.normal());
  return t;
}

Tensor row_by_row(const PrepackedWeight& w) {
  Tensor all = Tensor::empty({w.n(), w.k()}, DType::f32);
  for (int64_t i = 0; i < w.n(); ++i) w.row(i, {all.data<float>() + i * w.k(), {w.k()}});
  return all;
}

TEST(PrepackedFloats, RowsAreTheRowsOneByOne) {
  for (const QuantFormat& s : kFormats)
    for (auto [n, k] : kSizes) {
      const PrepackedWeight w = PrepackedWeight::pack(noise({n, k}, 1), s);
      const Tensor want = row_by_row(w);
      each_isa([&] {
        for (int64_t begin : {int64_t{0}, n / 3, n - 1})
          for (int64_t count : {int64_t{1}, (n - begin + 1) / 2, n - begin}) {
            Tensor got = Tensor::full({count, k + 5}, DType::f32, 42);
            w.rows(begin, got.narrow(1, 0, k).view<float, 2>());
            for (int64_t i = 0; i < count; ++i)
              for (int64_t c = 0; c < k + 5; ++c)
                ASSERT_EQ(got.item(i * (k + 5) + c), c < k ? want.item((begin + i) * k + c) : 42)
                    << to_string(s) << " [" << n << ", " << k << "], row " << begin + i << " of " << begin << " and "
                    << count << ", column " << c;
          }
      });
    }
}

// out (+)= g·W[begin : begin + g.shape[1]] with one fused multiply-add after the other, in the order of the rows of W.
void in_order(const Tensor& g, const Tensor& w, int64_t begin, Tensor& out) {
  for (int64_t t = 0; t < g.dim(0); ++t)
    for (int64_t c = 0; c < w.dim(1); ++c) {
      float& sum = out.data<float>()[t * w.dim(1) + c];
      for (int64_t i = 0; i < g.dim(1); ++i)
        sum = std::fma(g.data<float>()[t * g.dim(1) + i], w.data<float>()[(begin + i) * w.dim(1) + c], sum);
    }
}

TEST(PrepackedFloats, ProductsOfQuantizedWeightsAddUpTheirRowsInOrder) {
  Arena scratch;
  for (const QuantFormat& s : kFormats) {
    if (!s.quantized()) continue;
    for (auto [n, k] : kSizes) {
      const PrepackedWeight w = PrepackedWeight::pack(noise({n, k}, 1), s);
      const Tensor floats = row_by_row(w);
      for (int64_t begin : {int64_t{0}, n / 3})
        for (int64_t rows : {1, 5, 6, 13, 40}) {
          const Tensor g = noise({rows, n - begin}, 2), before = noise({rows, k}, 3);
          Tensor zero_based = Tensor::zeros({rows, k}, DType::f32), added = before.clone();
          in_order(g, floats, begin, zero_based), in_order(g, floats, begin, added);
          each_isa([&] {
            if (active_isa() == Isa::ref) return;
            for (const double beta : {0.0, 1.0}) {
              Tensor got = Tensor::full({rows, k + 3}, DType::f32, 42);
              const View<float, 2> out = got.narrow(1, 0, k).view<float, 2>();
              if (beta != 0) got.narrow(1, 0, k).copy_from(before);
              w.apply_transposed(g.view<const float, 2>(), begin, out, {.beta = beta}, scratch);
              for (int64_t i = 0; i < rows * (k + 3); ++i)
                ASSERT_EQ(got.item(i),
                          i % (k + 3) < k ? (beta == 0 ? zero_based : added).item(i / (k + 3) * k + i % (k + 3)) : 42)
                    << to_string(s) << " [" << n << ", " << k << "] from " << begin << ", " << rows << " rows, beta "
                    << beta;
            }
          });
        }
    }
  }
}

// Every kind of bf16 products, every format, in whatever order sums are taken: against sums in double. bf16 rounds g and,
// where that is faster, W.
TEST(PrepackedFloats, ProductsAreThoseOfTheFloats) {
  Arena scratch;
  for (const QuantFormat& s : kFormats)
    for (auto [n, k] : kSizes) {
      const PrepackedWeight w = PrepackedWeight::pack(noise({n, k}, 1), s);
      const Tensor floats = row_by_row(w), g = noise({21, n}, 2);
      each_products([&] {
        for (const bool bf16 : {false, true}) {
          Tensor got = Tensor::zeros({21, k}, DType::f32);
          w.apply_transposed(g.view<const float, 2>(), 0, got.view<float, 2>(), {.bf16 = bf16}, scratch);
          for (int64_t t = 0; t < 21; ++t)
            for (int64_t c = 0; c < k; ++c) {
              double want = 0, size = 0;
              for (int64_t i = 0; i < n; ++i) {
                const double product = g.item(t * n + i) * floats.item(i * k + c);
                want += product, size += std::abs(product);
              }
              ASSERT_NEAR(got.item(t * k + c), want, (bf16 ? 0x1p-7 : 1e-6) * size + 1e-6)
                  << to_string(s) << " [" << n << ", " << k << "] at " << t << ", " << c << (bf16 ? ", bf16" : "");
            }
        }
      });
    }
}

}  // namespace
}  // namespace quern::kernels
