// Products against the definition: every instruction set this machine has, odd shapes, strides, transposes, beta.
#include "quern/kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/cpu.h"
#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/kernels/cpu/test_products.h"
#include "quern/kernels/gemm/gemm_panels.h"
#include "quern/kernels/gemm/tile.h"

namespace quern::kernels {
namespace {

struct IsaGuard {
  Isa before = active_isa();
  ~IsaGuard() { set_active_isa(before); }
};

std::vector<Isa> isas() {
  std::vector<Isa> r;
  for (Isa i : {Isa::ref, Isa::avx2, Isa::avx512})
    if (i <= detected_isa()) r.push_back(i);
  return r;
}

template <class T>
std::vector<T> noise(int64_t n, uint64_t seed) {
  std::vector<T> v(static_cast<size_t>(n));
  Rng rng(seed);
  for (T& x : v) x = static_cast<T>(rng.uniform() * 2 - 1);
  return v;
}

template <class T, class F>
void compare(F&& product, int64_t m, int64_t n, int64_t k, GemmOptions o, double tolerance) {
  // Rows are longer than the matrix: leading dimensions are not the widths.
  int64_t ar = o.trans_a ? k : m, ac = o.trans_a ? m : k, br = o.trans_b ? n : k, bc = o.trans_b ? k : n;
  auto a = noise<T>(ar * (ac + 3) + 1, 1), b = noise<T>(br * (bc + 5) + 1, 2), c = noise<T>(m * (n + 2) + 1, 3),
       want = c;
  View<const T, 2> va(a.data(), {ar, ac}, {ac + 3, 1}), vb(b.data(), {br, bc}, {bc + 5, 1});
  View<T, 2> vc(c.data(), {m, n}, {n + 2, 1}), vw(want.data(), {m, n}, {n + 2, 1});
  product(va, vb, vc, o);
  gemm_ref<T>(va, vb, vw, o);
  for (size_t i = 0; i < c.size(); ++i)  // the columns between the rows included: they must stay as they were
    ASSERT_NEAR(static_cast<double>(c[i]), static_cast<double>(want[i]), tolerance)
        << "m " << m << " n " << n << " k " << k << " ta " << o.trans_a << " tb " << o.trans_b << " at " << i;
}

constexpr int64_t kShapes[][3] = {{0, 5, 3},     {5, 0, 3},     {3, 4, 0},     {1, 1, 1},   {1, 64, 7},
                                  {6, 64, 16},   {7, 65, 17},   {13, 130, 33}, {5, 3, 300}, {33, 80, 257},
                                  {260, 70, 40}, {16, 96, 520}, {200, 70, 530}};

TEST(Gemm, MatchesTheDefinitionUnderEveryIsa) {
  each_products([] {
    for (auto [m, n, k] : kShapes)
      for (int bits = 0; bits < 16; ++bits) {
        GemmOptions o{(bits & 1) != 0, (bits & 2) != 0, bits & 4 ? 1.0 : 0.0};
        if (bits & 8) {
          o.bf16 = true;
          compare<float>([](auto... x) { gemm<float>(x...); }, m, n, k, o, 1e-4);
          continue;
        }
        compare<float>([](auto... x) { gemm<float>(x...); }, m, n, k, o, 1e-4);
        compare<double>([](auto... x) { gemm<double>(x...); }, m, n, k, o, 1e-12);
        if (active_isa() != Isa::ref && m * n > 0) compare<float>(gemm_panels, m, n, k, o, 1e-4);
      }
  });
}

TEST(Gemm, BetaZeroIgnoresWhatWasThere) {
  std::vector<float> a{2}, b{3}, c{NAN};
  gemm<float>({a.data(), {1, 1}}, {b.data(), {1, 1}}, {c.data(), {1, 1}});
  EXPECT_EQ(c[0], 6);
}

TEST(Gemm, TheChosenIsaIsTheOneThatRuns) {
  IsaGuard guard;
  set_active_isa(Isa::ref);
  EXPECT_EQ(gemm_path(1000), GemmPath::ref);
  for (Isa isa : isas()) {
    if (isa == Isa::ref) continue;
    set_active_isa(isa);
    EXPECT_TRUE(std::string_view(tile_kernels().name).starts_with(isa_name(isa)));
    EXPECT_NE(gemm_path(1000), GemmPath::ref);
    EXPECT_EQ(gemm_path(4, {.trans_b = true}), GemmPath::panels);
  }
}

// The expected product is taken in double from the weights (and, for bf16, inputs) rounded one by one.
void compare_packed(DType dtype, int64_t t, int64_t n, int64_t k, bool with_bias) {
  auto rounded = [&](float v) { return static_cast<double>(dtype == DType::bf16 ? static_cast<float>(bf16(v)) : v); };
  auto xs = noise<float>(t * (k + 3) + 1, 4), ws = noise<float>(n * k, 5), bs = noise<float>(n, 6);
  std::vector<float> ys(static_cast<size_t>(t * (n + 9) + 1), 42);
  View<const float, 2> x(xs.data(), {t, k}, {k + 3, 1});
  View<float, 2> y(ys.data(), {t, n}, {n + 9, 1});
  PackedLinear p = PackedLinear::pack(Tensor::of<float>({n, k}, std::span<const float>(ws)), dtype);
  Arena scratch;
  p.apply(x, with_bias ? View<const float, 1>(bs.data(), {n}) : View<const float, 1>(), y, scratch);
  for (int64_t i = 0; i < t; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double want = with_bias ? static_cast<double>(bs[static_cast<size_t>(j)]) : 0;
      for (int64_t c = 0; c < k; ++c) want += rounded(x(i, c)) * rounded(ws[static_cast<size_t>(j * k + c)]);
      ASSERT_NEAR(static_cast<double>(y(i, j)), want, 2e-4)
          << dtype_name(dtype) << " t " << t << " n " << n << " k " << k;
    }
    for (int64_t j = n; j < n + 9; ++j) ASSERT_EQ(ys[static_cast<size_t>(i * (n + 9) + j)], 42) << "past the row";
  }
  std::vector<float> row(static_cast<size_t>(k));
  for (int64_t i : {int64_t{0}, n - 1}) {
    p.row(i, {row.data(), {k}});
    for (int64_t c = 0; c < k; ++c)
      ASSERT_EQ(static_cast<double>(row[static_cast<size_t>(c)]), rounded(ws[static_cast<size_t>(i * k + c)]));
  }
}

TEST(PackedLinear, MatchesTheDefinitionUnderEveryIsa) {
  each_products([] {
    for (DType dtype : {DType::f32, DType::bf16})
      for (int64_t t : {0, 1, 2, 6, 7, 11, 16, 20, 24, 25, 61, 200})
        for (auto [n, k] : {std::pair<int64_t, int64_t>{64, 32}, {1, 1}, {70, 33}, {200, 301}})
          compare_packed(dtype, t, n, k, t % 2 == 0);
    compare_packed(DType::f32, 30, 130, 1100, true);
    compare_packed(DType::bf16, 5, 130, 1100, true);
  });
}

// f32 weights that are bf16 values lie as bf16: half the bytes, and the bits of the f32 product. A last row that is
// no bf16 value keeps the other copy in f32.
TEST(PackedLinear, HoldsBf16ValuesAsBf16WithoutChangingABit) {
  IsaGuard guard;
  for (Isa isa : isas()) {
    set_active_isa(isa);
    for (int64_t t : {1, 2, 7, 24, 25, 200})
      for (auto [n, k] : {std::pair<int64_t, int64_t>{64, 32}, {17, 33}, {200, 301}, {130, 1100}}) {
        auto xs = noise<float>(t * k, 4), ws = noise<float>((n + 1) * k, 5), bs = noise<float>(n + 1, 6);
        for (float& w : ws) w = static_cast<float>(bf16(w));
        ws[static_cast<size_t>(n * k)] = 1.0001f;
        auto product = [&](int64_t rows) {
          PackedLinear p = PackedLinear::pack(
              Tensor::of<float>({rows, k}, std::span(ws).first(static_cast<size_t>(rows * k))), DType::f32);
          EXPECT_EQ(p.dtype(), DType::f32);
          EXPECT_EQ(p.bytes(), (rows + 63) / 64 * 64 * ((k + 1) / 2 * 2) * (rows == n ? 2 : 4));
          std::vector<float> y(static_cast<size_t>(t * rows)), row(static_cast<size_t>(k));
          Arena scratch;
          p.apply({xs.data(), {t, k}}, {bs.data(), {rows}}, {y.data(), {t, rows}}, scratch);
          p.row(0, {row.data(), {k}});
          EXPECT_EQ(row, std::vector<float>(ws.begin(), ws.begin() + k));
          return y;
        };
        const std::vector<float> half = product(n), full = product(n + 1);
        for (int64_t i = 0; i < t; ++i)
          for (int64_t j = 0; j < n; ++j)
            ASSERT_EQ(half[static_cast<size_t>(i * n + j)], full[static_cast<size_t>(i * (n + 1) + j)])
                << isa_name(isa) << " t " << t << " n " << n << " k " << k;
      }
  }
}

// A row has the same bits alone and among others, wherever it stands and however many threads there are.
TEST(PackedLinear, ARowIsSummedTheSameWayWhateverStandsBesideIt) {
  constexpr int64_t kRows = 600, kN = 130, kK = 1075;
  const auto xs = noise<float>(kRows * kK, 4), ws = noise<float>(kN * kK, 5);
  const int threads = thread_count();
  each_products([&] {
    if (active_isa() == Isa::ref) return;
    for (DType dtype : {DType::bf16, DType::f32}) {
      PackedLinear w = PackedLinear::pack(Tensor::of<float>({kN, kK}, std::span<const float>(ws)), dtype);
      Arena scratch;
      const auto product = [&](int64_t first, int64_t rows) {
        std::vector<float> y(static_cast<size_t>(rows * kN));
        w.apply({xs.data() + first * kK, {rows, kK}}, {}, {y.data(), {rows, kN}}, scratch);
        return y;
      };
      set_thread_count(1);
      const std::vector<float> all = product(0, kRows);
      for (int n : {1, 3}) {
        set_thread_count(n);
        for (auto [first, rows] : {std::pair<int64_t, int64_t>{0, kRows},
                                   {599, 1},
                                   {3, 2},
                                   {17, 15},
                                   {31, 16},
                                   {5, 17},
                                   {64, 33},
                                   {100, 63},
                                   {7, 65},
                                   {80, 513}}) {
          const std::vector<float> part = product(first, rows);
          EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + first * kN))
              << dtype_name(dtype) << " " << first << " +" << rows << " of " << n << " threads";
        }
      }
    }
  });
  set_thread_count(threads);
}

// A product of one order has the same bits for any number of threads.
TEST(Gemm, OneOrderForAnyNumberOfThreads) {
  const int threads = thread_count();
  each_products([&] {
    for (const int64_t k : {8, 64, 1075}) {
      constexpr int64_t kM = 601, kN = 515;
      const auto as = noise<float>(kM * k, 8), bs = noise<float>(kN * k, 9);
      const auto product = [&](int n) {
        set_thread_count(n);
        std::vector<float> c(static_cast<size_t>(kM * kN));
        gemm<float>({as.data(), {kM, k}}, {bs.data(), {kN, k}}, {c.data(), {kM, kN}},
                    {.trans_b = true, .one_order = true});
        return c;
      };
      const std::vector<float> one = product(1);
      for (const int n : {2, 3}) EXPECT_EQ(product(n), one) << k << ", " << n << " threads";
    }
  });
  set_thread_count(threads);
}

// What is no number stays in its row and its column, also where a step of tiles hangs over the end of K.
TEST(PackedLinear, InfinitiesStayInTheirRowAndColumn) {
  each_products([] {
    constexpr int64_t kRows = 35, kN = 70, kK = 33;
    auto xs = noise<float>(kRows * kK, 4), ws = noise<float>(kN * kK, 5);
    xs[20 * kK + 7] = INFINITY, ws[66 * kK + 32] = NAN;
    PackedLinear w = PackedLinear::pack(Tensor::of<float>({kN, kK}, std::span<const float>(ws)), DType::bf16);
    Arena scratch;
    std::vector<float> y(static_cast<size_t>(kRows * kN));
    w.apply({xs.data(), {kRows, kK}}, {}, {y.data(), {kRows, kN}}, scratch);
    for (int64_t i = 0; i < kRows; ++i)
      for (int64_t j = 0; j < kN; ++j)
        ASSERT_EQ(std::isfinite(y[static_cast<size_t>(i * kN + j)]), i != 20 && j != 66) << i << " " << j;
  });
}

// The forms of f32 products of bf16 values give the same bits: rows and weights widened before, or in the inner loop.
TEST(Tile, WidenedRowsGiveTheBitsOfWidenedPairs) {
  IsaGuard guard;
  for (Isa isa : isas()) {
    if (isa == Isa::ref) continue;
    set_active_isa(isa);
    const TileKernels& t = isa == Isa::avx2 ? tile_kernels_avx2() : tile_kernels_avx512();
    constexpr int64_t kK = 38;
    const auto x = noise<float>(6 * kK, 1), w = noise<float>(kK * 64, 2);
    std::vector<uint32_t> pairs(6 * kK / 2), panel(kK / 2 * 64);
    std::vector<float> floats(6 * kK), narrow(6 * 64), wide(6 * 64);
    for (int64_t i = 0; i < 6; ++i) {
      t.to_bf16(&x[static_cast<size_t>(i * kK)], kK, kK,
                reinterpret_cast<uint16_t*>(&pairs[static_cast<size_t>(i * kK / 2)]));
      t.rounded(&x[static_cast<size_t>(i * kK)], kK, kK, &floats[static_cast<size_t>(i * kK)]);
    }
    for (int64_t p = 0; p < kK / 2; ++p)
      t.pair(&w[static_cast<size_t>(128 * p)], &w[static_cast<size_t>(128 * p + 64)], 64,
             &panel[static_cast<size_t>(64 * p)]);
    Tile tile{.a = pairs.data(),
              .a_row = kK / 2,
              .b = panel.data(),
              .b_k = 64,
              .c = narrow.data(),
              .c_row = 64,
              .k = kK / 2,
              .rows = 6,
              .groups = 4};
    t.bf16(tile);
    tile.a = floats.data(), tile.a_row = kK, tile.c = wide.data();
    t.widened(tile);
    EXPECT_EQ(narrow, wide) << isa_name(isa);
    std::vector<float> both(6 * 64), rows_of_w(kK * 64);
    t.rounded(w.data(), kK * 64, kK * 64, rows_of_w.data());
    tile.b = rows_of_w.data(), tile.k = kK, tile.c = both.data();
    t.f32(tile);
    EXPECT_EQ(narrow, both) << isa_name(isa);
  }
}

TEST(Tile, RoundsToBf16LikeTheScalarType) {
  IsaGuard guard;
  auto x = noise<float>(70, 9);
  x[3] = NAN, x[5] = INFINITY, x[6] = 3e38f, x[7] = -0.0f, x[8] = 1.00390625f, x[9] = 1.01171875f;  // ties at 8, 9
  for (Isa isa : isas()) {
    if (isa == Isa::ref) continue;
    set_active_isa(isa);
    for (int64_t n : {0, 1, 8, 16, 31, 70}) {
      std::vector<uint16_t> y(80, 7);
      tile_kernels().to_bf16(x.data(), n, n + 2, y.data());
      for (int64_t i = 0; i < n; ++i) {
        float got = std::bit_cast<float>(uint32_t{y[static_cast<size_t>(i)]} << 16);
        float want = static_cast<float>(bf16(x[static_cast<size_t>(i)]));
        ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want))) << isa_name(isa) << " " << i;
      }
      ASSERT_EQ(y[static_cast<size_t>(n)] | y[static_cast<size_t>(n + 1)], 0);
      ASSERT_EQ(y[static_cast<size_t>(n + 2)], 7);
    }
  }
}

}  // namespace
}  // namespace quern::kernels
