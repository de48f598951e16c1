// Symmetric products and bf16 products against their definitions: every instruction set, sizes around the tile, block
// and item borders, strided operands; and exact symmetry, whatever the thread count.
#include "quern/kernels/gemm/symmetric.h"

#include <fmt/format.h>

#include "quern/base/threads.h"
#include "quern/kernels/cpu/test_products.h"

namespace quern::kernels {
namespace {

template <class T>
struct Matrix {
  int64_t rows, columns, stride;
  std::vector<T> data;
  Matrix(int64_t r, int64_t c, int64_t gap, uint64_t seed)
      : rows(r), columns(c), stride(c + gap), data(static_cast<size_t>(r * (c + gap)), T(99.0f)) {
    Rng rng(seed);
    for (int64_t i = 0; i < r; ++i)
      for (int64_t j = 0; j < c; ++j)
        data[static_cast<size_t>(i * stride + j)] = T(static_cast<float>(rng.uniform() - 0.5));
  }
  View<T, 2> view() { return {data.data(), {rows, columns}, {stride, 1}}; }
  void make_symmetric() {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < i; ++j) view()(i, j) = view()(j, i);
  }
};

// f32: sums of k products in another order; bf16: the same, then a rounding that may fall to the next value.
template <class T>
void near(Matrix<T>& got, Matrix<T>& want, int64_t k) {
  const double round = std::is_same_v<T, bf16> ? 1.0 / 128 : 0;
  int shown = 0;
  for (int64_t i = 0; i < got.rows; ++i) {
    for (int64_t j = 0; j < got.columns && shown < 5; ++j) {
      const double g = static_cast<float>(got.view()(i, j)), w = static_cast<float>(want.view()(i, j));
      if (!(std::abs(g - w) <= (1e-6 * std::sqrt(static_cast<double>(k)) + 3e-6 * std::abs(w)) + round * std::abs(w)))
        ADD_FAILURE() << i << ", " << j << ": " << g << ", expected " << w, ++shown;
    }
    for (int64_t j = got.columns; j < got.stride; ++j)
      EXPECT_EQ(static_cast<float>(got.data[static_cast<size_t>(i * got.stride + j)]), 99.0f);
  }
}

template <class T>
void symmetric_case(int64_t m, int64_t k, int64_t gap, Scales scales) {
  SCOPED_TRACE(fmt::format("m {} k {} gap {}", m, k, gap));
  Matrix<T> x(m, k, gap, 1), s(m, m, 0, 2), want(m, m, 0, 3), got(m, m, gap, 4);
  s.make_symmetric();
  symmetric_product_ref<T>(x.view(), s.view(), want.view(), scales);
  each_products([&] {
    symmetric_product<T>(x.view(), s.view(), got.view(), scales);
    near(got, want, k);
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < i; ++j)
        ASSERT_EQ(static_cast<float>(got.view()(i, j)), static_cast<float>(got.view()(j, i)));
  });
}

TEST(SymmetricProduct, MatchesTheDefinition) {
  for (auto [m, k, gap] : std::initializer_list<std::array<int64_t, 3>>{
           {1, 2, 0}, {5, 6, 2}, {63, 30, 0}, {64, 64, 0}, {65, 514, 4}, {130, 18, 0}, {200, 600, 2}, {450, 32, 0}}) {
    symmetric_case<float>(m, k, gap, {.alpha = 1});
    symmetric_case<bf16>(m, k, gap, {.alpha = 1});
    symmetric_case<float>(m, k, gap, {.alpha = 2.0315, .beta = -4.775});
    symmetric_case<bf16>(m, k, gap, {.alpha = 2.0315, .beta = -4.775});
  }
  symmetric_case<float>(70, 257, 1, {.alpha = 0.5});
}

TEST(GemmBf16, MatchesTheDefinition) {
  for (auto [m, n, k] : std::initializer_list<std::array<int64_t, 3>>{
           {1, 1, 2}, {7, 65, 6}, {64, 64, 64}, {130, 200, 514}, {400, 70, 30}})
    for (double beta : {0.0, 3.4445}) {
      SCOPED_TRACE(fmt::format("m {} n {} k {}", m, n, k));
      Matrix<bf16> a(m, k, 2, 1), b(k, n, 1, 2), s(m, n, 0, 3), want(m, n, 0, 4), got(m, n, 3, 5);
      gemm_bf16_ref(a.view(), b.view(), s.view(), want.view(), {.beta = beta});
      each_products([&] {
        gemm_bf16(a.view(), b.view(), s.view(), got.view(), {.beta = beta});
        near(got, want, k);
      });
    }
}

TEST(SymmetricProduct, ThreadCountDoesNotShow) {
  Matrix<float> x(500, 300, 0, 1), one(500, 500, 0, 2), three(500, 500, 0, 3);
  const int before = thread_count();
  set_thread_count(1);
  symmetric_product<float>(x.view(), {}, one.view());
  set_thread_count(3);
  symmetric_product<float>(x.view(), {}, three.view());
  set_thread_count(before);
  EXPECT_EQ(one.data, three.data);
}

}  // namespace
}  // namespace quern::kernels
