// A head matrix in blocks of rows against the same matrix as a whole, under every loss at the head.
#include "quern/kernels/cross_entropy/head_matrix.h"

#include "quern/kernels/cpu/products.h"
#include "quern/kernels/cross_entropy/head_objective.h"
#include "quern/kernels/cross_entropy/head_rows.h"
#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

constexpr int64_t kTokens = 23, kWidth = 19, kVocab = 1300;  // blocks of 512, 512 and 276 rows

struct InBlocks {
  Rows<float> w = Rows<float>::random(kVocab, kWidth, 2, 3);
  int64_t written = 0, most = 0;  // rows
  HeadMatrix<float> matrix() {
    return {kVocab, kWidth,
            [this](int64_t begin, View<float, 2> rows) {
              written += rows.shape[0], most = std::max(most, rows.shape[0]);
              for (int64_t r = 0; r < rows.shape[0]; ++r) std::copy_n(w.in().row(begin + r), kWidth, rows.row(r));
            },
            1};
  }
};

TEST(HeadMatrix, BlocksEqualTheWhole) {
  each_isa([] {
    std::vector<int32_t> targets(kTokens);
    Rng rng(7);
    for (int32_t& t : targets) t = static_cast<int32_t>(rng.below(kVocab));
    targets[3] = -1;
    Rows<float> h = Rows<float>::random(kTokens, kWidth, 1, 2);
    const TokenObjective twice = [](int64_t, double logprob) { return TokenTerm{-2 * logprob, -2}; };
    const RowsObjective half_square = [](int64_t, View<float, 2> logits) {  // its gradient is the logits
      double sum = 0;
      for (int64_t r = 0; r < logits.shape[0]; ++r)
        for (int64_t v = 0; v < kVocab; ++v)
          sum += 0.5 * static_cast<double>(logits(r, v)) * static_cast<double>(logits(r, v));
      return sum;
    };
    InBlocks blocks;
    Arena scratch;
    for (bool bf16 : {false, true})
      for (int64_t chunk_tokens : {5, 1000}) {
        SCOPED_TRACE(testing::Message() << (bf16 ? "bf16, " : "f32, ") << chunk_tokens << " tokens a chunk");
        const auto compare = [&](auto&& loss) {
          Rows<float> whole(kTokens, kWidth), parts(kTokens, kWidth);
          const double expected = loss(HeadMatrix<float>(blocks.w.in()), HeadLossGrads<float>{whole.view(), {}, {}});
          const double found = loss(blocks.matrix(), HeadLossGrads<float>{parts.view(), {}, {}});
          if (bf16 && active_isa() != Isa::ref && !matrix_tiles()) {  // these add up a block of 512 rows in one go
            EXPECT_EQ(found, expected);
            EXPECT_EQ(parts.data, whole.data);
          }
          EXPECT_NEAR(found, expected, 1e-6 * std::abs(expected));
          for (size_t i = 0; i < whole.data.size(); ++i)
            EXPECT_NEAR(parts.data[i], whole.data[i], 1e-5f * std::max(1.0f, std::abs(whole.data[i])));
        };
        const int64_t bytes = chunk_tokens * kVocab * 4;
        compare([&](const HeadMatrix<float>& w, HeadLossGrads<float> grads) {
          HeadLoss<float> in{h.in(), w, {}, targets, {}, bytes, bf16};
          return head_cross_entropy<float>(in, 10, grads, {}, scratch);
        });
        compare([&](const HeadMatrix<float>& w, HeadLossGrads<float> grads) {
          const HeadObjective<float> in{.h = h.in(), .w = w, .targets = targets, .chunk_bytes = bytes, .bf16 = bf16};
          return head_objective<float>(in, twice, 1, grads, scratch);
        });
        compare([&](const HeadMatrix<float>& w, HeadLossGrads<float> grads) {
          return head_rows<float>({h.in(), w, bytes, bf16}, half_square, grads, scratch);
        });
      }
  });
}

// No more rows exist at a time than a block has: one pass writes them for the logits, another for the gradient.
TEST(HeadMatrix, NeverAsAWhole) {
  if (active_isa() == Isa::ref) GTEST_SKIP() << "the reference reads the whole matrix";
  Rows<float> h = Rows<float>::random(kTokens, kWidth, 1, 2);
  const std::vector<int32_t> targets(kTokens, 1);
  Rows<float> gh(kTokens, kWidth);
  InBlocks blocks;
  Arena scratch;
  head_cross_entropy<float>({h.in(), blocks.matrix(), {}, targets, {}}, 1, {gh.view(), {}, {}}, {}, scratch);
  EXPECT_EQ(blocks.most, 512);
  EXPECT_EQ(blocks.written, 2 * kVocab);
}

}  // namespace
}  // namespace quern::kernels
