// Rates of finite sources against closed forms; the losses of image codes against finite differences; and what the
// paper claims, at small scale: at equal rate a code made for a question answers it better than one made for the
// picture. On the digits of papers/action-centric/digits.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "lab/action_centric/blahut_arimoto.h"
#include "lab/action_centric/study.h"
#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"

namespace quern::lab {
namespace {

double entropy(double p) { return p <= 0 || p >= 1 ? 0 : -p * std::log2(p) - (1 - p) * std::log2(1 - p); }

FiniteSource uniform(size_t n, const std::function<double(size_t, size_t)>& d, size_t answers) {
  FiniteSource s{std::vector<double>(n, 1.0 / static_cast<double>(n)), {}};
  for (size_t x = 0; x < n; ++x) {
    s.distortion.emplace_back();
    for (size_t y = 0; y < answers; ++y) s.distortion.back().push_back(d(x, y));
  }
  return s;
}

TEST(BlahutArimoto, FourStatesAndABinaryQuestionAboutThem) {
  const FiniteSource states = uniform(
                         4, [](size_t x, size_t y) { return x != y; }, 4),
                     question = uniform(
                         4, [](size_t x, size_t y) { return x / 2 != y; }, 2);
  for (double d : {0.01, 0.1, 0.25, 0.5, 0.7}) {
    EXPECT_NEAR(rate_at_distortion(states, d), 2 - entropy(d) - d * std::log2(3.0), 1e-6) << d;
    EXPECT_NEAR(rate_at_distortion(question, d), d < 0.5 ? 1 - entropy(d) : 0, 1e-6) << d;
    EXPECT_LE(rate_at_distortion(question, d), rate_at_distortion(states, d) + 1e-9);
  }
  EXPECT_EQ(rate_at_distortion(states, 0.75), 0);
  EXPECT_NEAR(rate_at_distortion(states, 0.5), 0.2075, 1e-4);
  // A biased coin: R(D) = h(p) − h(D).
  const FiniteSource coin{{0.3, 0.7}, {{0, 1}, {1, 0}}};
  EXPECT_NEAR(rate_at_distortion(coin, 0.1), entropy(0.3) - entropy(0.1), 1e-6);
  for (double a : {0.67, 0.85, 1.0}) {  // ten answers: the same by the alternation
    const FiniteSource ten = uniform(
        10, [](size_t x, size_t y) { return x != y; }, 10);
    if (a < 1) {
      EXPECT_NEAR(min_query_rate(10, a), rate_at_distortion(ten, 1 - a), 1e-6);
    }
  }
  EXPECT_NEAR(min_query_rate(10, 0.85), 2.24, 0.005);
  EXPECT_NEAR(min_query_rate(10, 1), std::log2(10.0), 1e-12);
}

TEST(BlahutArimoto, Mistakes) {
  EXPECT_NE(message_of([] {
              rate_at_slope({{0.5, 0.4}, {{0, 1}, {1, 0}}}, 1);
            }).find("add up to 0.9"),
            std::string::npos);
  EXPECT_NE(message_of([] { rate_at_slope({{0.5, 0.5}, {{0, 1}, {1}}}, 1); }).find("row 1"), std::string::npos);
  EXPECT_NE(message_of([] {
              rate_at_distortion({{0.5, 0.5}, {{1, 2}, {2, 1}}}, 0.5);
            }).find("no less than 1"),
            std::string::npos);
}

std::vector<double> normals(int64_t n, uint64_t seed) {
  std::vector<double> v;
  Rng rng(seed);
  for (int64_t i = 0; i < n; ++i) v.push_back(rng.normal());
  return v;
}

// The greatest |difference of the loss − gradient| over all weights, and that there were enough of them.
template <class Nets, class Loss>
double worst_difference(const Nets& nets, Loss&& loss, int64_t minimum) {
  double worst = 0;
  int64_t tried = 0;
  for (auto* net : nets) {
    const auto weights = net->weights(), gradients = net->gradients();
    for (size_t k = 0; k < weights.size(); ++k)
      for (size_t i = 0; i < weights[k].size(); ++i, ++tried) {
        constexpr double kStep = 1e-6;
        const double w = weights[k][i];
        weights[k][i] = w + kStep;
        const double up = loss();
        weights[k][i] = w - kStep;
        const double down = loss();
        weights[k][i] = w;
        worst = std::max(worst, std::abs((up - down) / (2 * kStep) - gradients[k][i]));
      }
  }
  EXPECT_GT(tried, minimum);
  return worst;
}

TEST(ImageCode, EveryLossAgainstFiniteDifferences) {
  const CodeShape shape{.pixels = 16, .latent = 2, .hidden = 5, .layers = 2};
  std::vector<double> x;
  Rng rng(3);
  for (int i = 0; i < 4 * 16; ++i) x.push_back(rng.uniform());
  const std::vector<double> noise = normals(4 * 2, 4);
  for (CodeLoss loss : {CodeLoss::reconstruction, CodeLoss::action, CodeLoss::bottleneck}) {
    Query<double> query({.pixels = 16, .classes = 3, .channels = {}, .hidden = {6}}, 9),
        other({.pixels = 16, .classes = 2, .channels = {3, 4}, .hidden = {5}}, 10);
    std::vector<Question<double>> questions = {{&query, 0.7}};
    if (loss == CodeLoss::action) questions.push_back({&other, 1.3});
    ImageCode<double> code(shape, loss, 0.3, questions, 5);
    const std::vector<double> target = code.targets(x, 4);
    code.batch(x, 4, noise, target, BatchPass::loss_and_gradients);
    const std::vector<Mlp<double>*> nets = {&code.encoder(), &code.decoder()};
    EXPECT_LT(worst_difference(
                  nets, [&] { return code.batch(x, 4, noise, target, BatchPass::loss); }, 60),
              1e-6)
        << code_loss_name(loss);
    for (Query<double>* q : {&query, &other})
      for (const auto& g : q->gradients())
        for (double v : g) EXPECT_EQ(v, 0) << "the queries are frozen";
  }
}

TEST(Query, ConvolutionsAgainstFiniteDifferences) {
  Query<double> query({.pixels = 25, .classes = 3, .channels = {2, 3}, .hidden = {4}}, 2);  // 5 × 5, 3 × 3, 2 × 2
  std::vector<double> x = normals(3 * 25, 6);
  const std::vector<double> g = normals(3 * 3, 7);
  const auto loss = [&] {
    const std::span<const double> y = query.forward(x, 3);
    return std::inner_product(y.begin(), y.end(), g.begin(), 0.0);
  };
  loss();
  const std::span<const double> gx = query.backward(g);
  const std::vector<double> kept(gx.begin(), gx.end());
  EXPECT_LT(worst_difference(std::vector<Query<double>*>{&query}, loss, 100), 1e-6);
  for (size_t i = 0; i < x.size(); ++i) {
    const double was = x[i];
    x[i] = was + 1e-6;
    const double up = loss();
    x[i] = was - 1e-6;
    const double down = loss();
    x[i] = was;
    EXPECT_NEAR((up - down) / 2e-6, kept[i], 1e-6);
  }
  EXPECT_NE(message_of([] { Query<float>({.pixels = 24, .channels = {2}}, 1); }).find("24 pixels"),
            std::string::npos);
}

// One output pixel by hand: the sum of a 3 × 3 patch with zeros around.
TEST(Query, AConvolutionIsASumOverPatches) {
  HalvingConv<double> conv(3, 1, 1, 1);
  const std::span<double> w = conv.weights().front();
  std::fill(w.begin(), w.end(), 1.0);
  w[0] = 10;  // of the upper left neighbor
  const std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const std::span<const double> y = conv.forward(x, 1);
  EXPECT_EQ(std::vector<double>(y.begin(), y.end()), (std::vector<double>{12, 16, 24, 28 + 9 * 5}));
}

TEST(ImageCode, RateIsTheDivergenceOfTheCodes) {
  const CodeShape shape{.pixels = 4, .latent = 1, .hidden = 3};
  ImageCode<double> code(shape, CodeLoss::reconstruction, 1, {}, 8);
  const std::vector<double> x = {0.1, 0.9, 0.4, 0.7}, none = {0};
  code.batch(x, 1, none, {}, BatchPass::loss);
  const double mu = code.code()[0], sigma = std::exp(code.code()[1] / 2);
  double sum = 0;
  constexpr int64_t kDraws = 400000;
  for (double e : normals(kDraws, 12)) {  // E[ln q(z) − ln p(z)]
    const double z = mu + sigma * e;
    sum += -0.5 * e * e - std::log(sigma) + 0.5 * z * z;
  }
  EXPECT_NEAR(code.nats(), sum / kDraws, 0.01 * std::max(1.0, code.nats()));
}

// Pictures of 36 pixels: 28 of loud, independent noise and 8 that faintly spell one of four answers.
Images pictures(int64_t n, uint64_t seed) {
  Images all{.pixels = 36, .classes = 4, .x = {}, .label = {}};
  Rng rng(seed);
  for (int64_t i = 0; i < n; ++i) {
    const auto label = static_cast<int>(rng.below(4));
    for (int p = 0; p < 28; ++p) all.x.push_back(rng.uniform() < 0.5 ? 0.05f : 0.95f);
    for (int p = 0; p < 8; ++p)
      all.x.push_back((p / 2 == label ? 0.6f : 0.4f) + 0.05f * static_cast<float>(rng.normal()));
    all.label.push_back(label);
  }
  return all;
}

TEST(ImageCode, MadeForAQuestionItAnswersWithFewerBits) {
  const Images train = pictures(1000, 1), test = pictures(400, 2);
  Query<float> query = train_query(train, {.hidden = {32}}, {.epochs = 20, .batch = 50, .lr = 3e-3});
  ASSERT_GT(query_accuracy(query, test), 0.95);
  const CodeShape shape{.pixels = 36, .latent = 4, .hidden = 48};
  auto trained = [&](CodeLoss loss, double beta) {
    ImageCode<float> code(shape, loss, beta, {{&query}}, 3);
    train_code(code, train, {.epochs = 40, .batch = 50});
    return measure_code(code_images(code, test, 4), shape.latent, query, test);
  };
  const CodeFigures picture = trained(CodeLoss::reconstruction, 0.1), action = trained(CodeLoss::action, 0.05),
                    bottleneck = trained(CodeLoss::bottleneck, 0.05);
  EXPECT_GT(action.accuracy, 0.85);
  EXPECT_LT(action.bits, picture.bits);
  EXPECT_LT(picture.accuracy, 0.6) << "the loud pixels took its bits: " << picture.bits;
  EXPECT_GT(action.squared_error, picture.squared_error);
  EXPECT_GT(bottleneck.accuracy, 0.85);
  for (const CodeFigures& f : {picture, action, bottleneck}) {
    EXPECT_GT(f.bits + 0.3, f.information) << "the divergence bounds what the code tells";
    EXPECT_GE(f.bits + 0.05, min_query_rate(4, f.accuracy));
    EXPECT_GE(f.active, 1);
  }
}

TEST(ActionCentric, Digits) {
  const ImageSplit s =
      split(read_digits(std::string(QUERN_SOURCE_DIR) + "/papers/action-centric/digits/digits.csv.gz"), 1297, 1);
  ASSERT_EQ(s.test.size(), 500);
  Query<float> query = train_query(s.train, {}, {.epochs = 60, .lr = 3e-3});
  EXPECT_GT(query_accuracy(query, s.test), 0.95);
  auto trained = [&](CodeLoss loss, double beta) {
    ImageCode<float> code({}, loss, beta, {{&query}}, 1);
    train_code(code, s.train, {.epochs = 150});
    return measure_code(code_images(code, s.test, 2), 8, query, s.test);
  };
  const CodeFigures picture = trained(CodeLoss::reconstruction, 1), action = trained(CodeLoss::action, 0.1);
  EXPECT_NEAR(picture.bits, 5, 1);
  EXPECT_NEAR(action.bits, 5.4, 1);
  EXPECT_GE(action.accuracy - picture.accuracy, 0.15);
  EXPECT_GE(action.squared_error, 4 * picture.squared_error);
}

TEST(Images, MistakesAreNamed) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("quern-images-{}", ::getpid());
  std::filesystem::create_directories(folder);
  write_file(folder / "digits.csv", "1,2,3\n");
  EXPECT_NE(message_of([&] { read_digits(folder / "digits.csv"); }).find("line 1"), std::string::npos);
  write_file(folder / "images", std::string("\0\0\x8\x3\0\0\0\x2\0\0\0\x1\0\0\0\x2"
                                            "abc",
                                            19));
  write_file(folder / "labels", std::string("\0\0\x8\x1\0\0\0\x2\x1\x3", 10));
  EXPECT_NE(message_of([&] { read_idx(folder / "images", folder / "labels"); }).find("4 bytes, 3 follow"),
            std::string::npos);
  write_file(folder / "images", std::string("\0\0\x8\x3\0\0\0\x2\0\0\0\x1\0\0\0\x2"
                                            "\0\xff\x33\xff",
                                            20));
  const Images i = read_idx(folder / "images", folder / "labels");
  EXPECT_EQ(i.label, (std::vector<int>{1, 3}));
  EXPECT_EQ(i.classes, 4);
  EXPECT_EQ(i.x, (std::vector<float>{0, 1, 0.2f, 1}));
  EXPECT_NE(message_of([] { parse_code_loss("picture"); }).find("'picture'"), std::string::npos);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace quern::lab
