// Objectives of rows of logits at the head: cross-entropy as a case, finite differences, chunks of any size.
#include "quern/kernels/cross_entropy/head_rows.h"

#include <cmath>

#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

// Cross entropy of target (begin + r) mod V in every row.
template <class T>
double next_word(int64_t begin, View<T, 2> logits) {
  double loss = 0;
  for (int64_t r = 0; r < logits.shape[0]; ++r) {
    T* row = logits.row(r);
    const int64_t vocab = logits.shape[1], target = (begin + r) % vocab;
    double sum = 0;
    for (int64_t v = 0; v < vocab; ++v) sum += std::exp(static_cast<double>(row[v]));
    loss += std::log(sum) - static_cast<double>(row[target]);
    for (int64_t v = 0; v < vocab; ++v) row[v] = static_cast<T>(std::exp(static_cast<double>(row[v])) / sum);
    row[target] -= 1;
  }
  return loss;
}

TEST(HeadRows, CrossEntropyIsACase) {
  Rows<double> h = Rows<double>::random(6, 3, 1), w = Rows<double>::random(5, 3, 2);
  const std::vector<int32_t> targets = {0, 1, 2, 3, 4, 0};
  Arena scratch;
  Rows<double> gh(6, 3), gw(5, 3), eh(6, 3), ew(5, 3);
  const double mean =
      head_cross_entropy<double>({h.in(), w.in(), {}, targets, {}}, 6, {eh.view(), ew.view(), {}}, {}, scratch);
  for (int64_t rows : {1, 4, 6}) {
    std::ranges::fill(gw.data, 0);
    HeadRows<double> in{h.in(), w.in()};
    in.chunk_bytes = rows * 5 * 8;
    const double sum = head_rows<double>(in, next_word<double>, {gh.view(), gw.view(), {}}, scratch);
    EXPECT_NEAR(sum, 6 * mean, 1e-12);
    for (size_t i = 0; i < eh.data.size(); ++i) EXPECT_NEAR(gh.data[i], eh.data[i], 1e-12);
    for (size_t i = 0; i < ew.data.size(); ++i) EXPECT_NEAR(gw.data[i], ew.data[i], 1e-12);
  }
}

TEST(HeadRows, GradientByDifferences) {
  Rows<double> h = Rows<double>::random(4, 3, 1), w = Rows<double>::random(5, 3, 2), gh(4, 3), gw(5, 3);
  Arena scratch;
  const HeadRows<double> in{h.in(), w.in()};
  auto loss = [&] { return head_rows<double>(in, next_word<double>, {}, scratch); };
  head_rows<double>(in, next_word<double>, {gh.view(), gw.view(), {}}, scratch);
  check_gradient(loss, h.data, gh.data);
  check_gradient(loss, w.data, gw.data);
}

}  // namespace
}  // namespace quern::kernels
