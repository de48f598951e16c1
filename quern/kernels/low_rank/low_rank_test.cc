// Low-rank products: every instruction set against the definition; a row has the same bits alone and among others.
#include "quern/kernels/low_rank/low_rank.h"

#include "quern/base/threads.h"
#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

Tensor random_tensor(Shape shape, uint64_t seed) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  Rng rng(seed);
  for (float& v : t.span<float>()) v = static_cast<float>(2 * rng.uniform() - 1);
  return t;
}

LowRankFactors factors(int64_t rank, int64_t n, int64_t k, uint64_t seed, DType as = DType::f32) {
  return LowRankFactors::pack(random_tensor({rank, k}, seed), random_tensor({n, rank}, seed + 1), 0.5, as);
}

TEST(LowRank, OneByHand) {  // y = 1 + 2·3·(1·4 + 2·5)·{6, 7}
  each_isa([] {
    Tensor a = Tensor::empty({1, 2}, DType::f32), b = Tensor::empty({2, 1}, DType::f32);
    a.data<float>()[0] = 4, a.data<float>()[1] = 5, b.data<float>()[0] = 6, b.data<float>()[1] = 7;
    const LowRankFactors f = LowRankFactors::pack(a, b, 2);
    Rows<float> x(1, 2), y(1, 2);
    x.data = {1, 2}, y.data = {1, 1};
    const LowRankRows rows{0, 1, &f, 3};
    add_low_rank(x.in(), {&rows, 1}, y.view());
    EXPECT_EQ(y.data, (std::vector<float>{505, 589}));
  });
}

// Widths that end inside vectors; more and fewer rows than a tile; two adapters on the same rows; rows without any.
TEST(LowRank, EqualsTheDefinition) {
  for (DType as : {DType::f32, DType::bf16}) {
    const LowRankFactors one = factors(5, 77, 35, 1, as), two = factors(16, 77, 35, 3, as);
    const std::vector<LowRankRows> rows = {{0, 1, &one, 1}, {1, 8, &two, 0.25F}, {1, 8, &one, -1}, {9, 50, &two, 2}};
    each_isa([&] {
      Rows<float> x = Rows<float>::random(51, 35, 7, 3), y = Rows<float>::random(51, 77, 8, 5), want = y;
      add_low_rank(x.in(), rows, y.view());
      add_low_rank_ref(x.in(), rows, want.view());
      EXPECT_TRUE(y.gap_untouched());
      for (size_t i = 0; i < y.data.size(); ++i) ASSERT_NEAR(y.data[i], want.data[i], 2e-5) << i;
    });
  }
}

TEST(LowRank, ARowHasTheSameBitsAloneAndAmongOthers) {
  const LowRankFactors one = factors(16, 200, 300, 1), two = factors(40, 200, 300, 3);
  const int before = thread_count();
  each_isa([&] {
    for (int threads : {1, 2, 3}) {
      set_thread_count(threads);
      Rows<float> x = Rows<float>::random(40, 300, 7), y = Rows<float>::random(40, 200, 8), first = y;
      std::vector<LowRankRows> rows;
      for (int64_t t = 0; t < 16; ++t) rows.push_back({t, t + 1, t % 2 ? &one : &two, 1});
      rows.push_back({16, 40, &two, 1});
      add_low_rank(x.in(), rows, y.view());
      for (int64_t t : {0, 3, 17, 39}) {
        const LowRankFactors* f = t < 16 && t % 2 ? &one : &two;
        const LowRankRows alone{0, 1, f, 1};
        const View<const float, 2> xt(x.in().row(t), {1, 300}, {300, 1});
        const View<float, 2> yt(first.view().row(t), {1, 200}, {200, 1});
        add_low_rank(xt, {&alone, 1}, yt);
        for (int64_t n = 0; n < 200; ++n) ASSERT_EQ(yt(0, n), y.view()(t, n)) << t << ", " << n;
      }
    }
  });
  set_thread_count(before);
}

}  // namespace
}  // namespace quern::kernels
