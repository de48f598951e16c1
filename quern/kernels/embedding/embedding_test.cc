// Embedding rows: lookups by hand in every row type, and the sum of repeated tokens.
#include "quern/kernels/embedding/embedding.h"

#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

TEST(Embedding, PicksRows) {
  Rows<float> table(3, 2, 1), y(3, 2, 4);
  for (int64_t i = 0; i < 3; ++i)
    table.view()(i, 0) = static_cast<float>(i), table.view()(i, 1) = static_cast<float>(10 * i);
  embedding<float, float>(table.in(), std::vector<int32_t>{2, 0, 2}, y.view());
  EXPECT_EQ(y.view()(0, 1), 20);
  EXPECT_EQ(y.view()(1, 1), 0);
  EXPECT_EQ(y.view()(2, 0), 2);
  EXPECT_TRUE(y.gap_untouched());
}

TEST(Embedding, WidensBf16) {
  std::vector<bf16> table(4 * 37);
  for (size_t i = 0; i < table.size(); ++i) table[i] = bf16(static_cast<float>(i) * 0.25f);  // exact in bf16
  Rows<float> y(2, 37);
  embedding<bf16, float>({table.data(), {4, 37}}, std::vector<int32_t>{3, 1}, y.view());
  EXPECT_EQ(y.view()(0, 36), 147 * 0.25f);
  EXPECT_EQ(y.view()(1, 0), 37 * 0.25f);
}

TEST(Embedding, BackwardAddsRepeatedTokens) {
  Rows<double> gy = Rows<double>::random(4, 3, 1), table = Rows<double>::random(5, 3, 2), g(5, 3), y(4, 3);
  const std::vector<int32_t> ids = {1, 4, 1, 0};
  auto loss = [&] {
    embedding<double, double>(table.in(), ids, y.view());
    return weighted_sum(y, gy);
  };
  embedding_backward<double>(ids, gy.in(), g.view());
  check_gradient(loss, table.data, g.data);
}

TEST(Embedding, ThreadsSplitColumnsNotSums) {  // wide enough for several threads; integers add exactly
  constexpr int64_t kTokens = 40, kWidth = 3000;
  Rows<float> gy(kTokens, kWidth), g(2, kWidth);
  for (float& v : gy.data) v = 1;
  embedding_backward<float>(std::vector<int32_t>(kTokens, 1), gy.in(), g.view());
  for (int64_t c = 0; c < kWidth; ++c) ASSERT_EQ(g.view()(1, c), kTokens);
  EXPECT_EQ(g.view()(0, 0), 0);
}

TEST(EmbeddingDeathTest, UnknownToken) {
  Rows<float> table(3, 2), y(1, 2);
  EXPECT_DEATH((embedding<float, float>(table.in(), std::vector<int32_t>{3}, y.view())),
               "token id 3 in a table of 3");
}

}  // namespace
}  // namespace quern::kernels
