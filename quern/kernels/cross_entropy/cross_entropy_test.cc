// Head loss: closed-form values, ignored and weighted targets, independence of the chunk, gradients, every
// instruction set against the reference.
#include "quern/kernels/cross_entropy/cross_entropy.h"

#include "quern/kernels/test_util.h"

namespace quern::kernels {
namespace {

TEST(HeadCrossEntropy, LogOfIntegers) {  // logits log 1, log 3 plus biases log 2, 0: p = 2/5, 3/5
  each_isa([] {
    Rows<float> h(2, 1), w(2, 1), b(1, 2), loss(1, 2);
    h.data = {1, 1}, w.data = {0, std::log(3.0f)}, b.data = {std::log(2.0f), 0};
    Arena scratch;
    const std::vector<int32_t> targets = {0, 1};
    double mean = head_cross_entropy<float>({h.in(), w.in(), b.vec_in(), targets, {}}, 1, {}, loss.vec(), scratch);
    EXPECT_NEAR(loss.data[0], std::log(2.5), 1e-6);
    EXPECT_NEAR(loss.data[1], std::log(5.0 / 3), 1e-6);
    EXPECT_NEAR(mean, (std::log(2.5) + std::log(5.0 / 3)) / 2, 1e-6);
  });
}

TEST(HeadCrossEntropy, NothingToLearnFrom) {
  each_isa([] {
    Rows<float> h = Rows<float>::random(3, 4, 1), w = Rows<float>::random(5, 4, 2), gh = Rows<float>::random(3, 4, 3),
                gw(5, 4);
    Arena scratch;
    const std::vector<int32_t> targets = {-1, -100, -1};
    EXPECT_EQ(
        head_cross_entropy<float>({h.in(), w.in(), {}, targets, {}}, 1, {gh.view(), gw.view(), {}}, {}, scratch), 0);
    EXPECT_EQ(gh.data, std::vector<float>(12, 0));
    EXPECT_EQ(gw.data, std::vector<float>(20, 0));
  });
}

TEST(HeadCrossEntropy, Gradient) {
  Rows<double> h = Rows<double>::random(4, 3, 1), w = Rows<double>::random(5, 3, 2),
               b = Rows<double>::random(1, 5, 3);
  Rows<double> weight(1, 4), gh(4, 3), gw(5, 3), gb(1, 5);
  weight.data = {1, 0.5, 2, 1};
  const std::vector<int32_t> targets = {0, 4, -1, 2};
  Arena scratch;
  const HeadLoss<double> in{h.in(), w.in(), b.vec_in(), targets, weight.vec_in()};
  auto loss = [&] { return 1.7 * head_cross_entropy<double>(in, 1, {}, {}, scratch); };
  head_cross_entropy<double>(in, 1.7, {gh.view(), gw.view(), gb.vec()}, {}, scratch);
  check_gradient(loss, h.data, gh.data);
  check_gradient(loss, w.data, gw.data);
  check_gradient(loss, b.data, gb.data);
}

// Any chunk, from one token to all of them, on every instruction set, gives what the reference gives.
TEST(HeadCrossEntropy, AllIsasAndChunksAgree) {
  constexpr int64_t kTokens = 23, kWidth = 19, kVocab = 101;
  std::vector<int32_t> targets(kTokens);
  Rng rng(7);
  for (int32_t& t : targets) t = static_cast<int32_t>(rng.below(kVocab));
  targets[0] = targets[5] = targets[6] = -1;  // the first chunk of one token is all ignored
  for (int64_t chunk_tokens : {1, 4, 23, 1000})
    for (bool with_bias : {false, true}) {
      SCOPED_TRACE(testing::Message() << chunk_tokens << " tokens a chunk");
      same_on_all_isas(
          [&]<class T>(T) {
            using R = Rows<T>;
            R h = R::random(kTokens, kWidth, 1, 2, 2), w = R::random(kVocab, kWidth, 2, 3),
              b = R::random(1, kVocab, 3);
            R weight = R::random(1, kTokens, 4), gh(kTokens, kWidth, 1), gw = R::random(kVocab, kWidth, 5, 2);
            R gb = R::random(1, kVocab, 6), token(1, kTokens), mean(1, 1);
            for (T& x : weight.data) x = std::abs(x);
            HeadLoss<T> in{h.in(), w.in(), {}, targets, weight.vec_in(), chunk_tokens * kVocab * 4};
            HeadLossGrads<T> grads{gh.view(), gw.view(), {}};
            if (with_bias) in.bias = b.vec_in(), grads.gbias = gb.vec();
            Arena scratch;
            mean.data[0] = static_cast<T>(head_cross_entropy<T>(in, 10, grads, token.vec(), scratch));
            Outputs o;
            o.add(gh), o.add(gw), o.add(gb), o.add(token), o.add(mean);
            return o;
          },
          5e-6);
    }
}

}  // namespace
}  // namespace quern::kernels
