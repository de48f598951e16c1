// Every tape operation of the room: finite differences in double; f32 against f64; initial values.
#include <gtest/gtest.h>

#include <cmath>

#include "quern/kernels/gemm/gemm.h"
#include "quern/nn/check_module.h"
#include "quern/nn/frozen_linear.h"
#include "quern/nn/ops.h"

namespace quern::nn {
namespace {

constexpr double kTolerance = 2e-8;

struct Bag : Module {  // parameters an operation may want
  grad::Parameter d{{6}, grad::Init::constant(1)}, e{{6}, grad::Init::constant(0)}, h{{2}, grad::Init::constant(1)},
      table{{7, 6}, grad::Init::normal()};
  Linear plain{4, 6, Bias::no}, biased{5, 6, Bias::yes};
  LinearGroup group{{Linear(4, 6, Bias::yes), Linear(3, 6, Bias::no), Linear(2, 6, Bias::yes)}};
  ResidualScale merge{6};
  void visit(const std::string& p, const ParameterVisitor& v) override {
    v(p + "d", d), v(p + "e", e), v(p + "h", h), v(p + "table", table);
    plain.visit(p + "plain", v), biased.visit(p + "biased", v), merge.visit(p + "merge.", v);
    for (size_t i = 0; i < 3; ++i) group.part(i).visit(fmt::format("{}group{}", p, i), v);
  }
};

using One = std::function<grad::Var(grad::Tape&, const std::vector<grad::Var>&, Bag&)>;

void check(const char* name, std::vector<Tensor> inputs, const One& f) {
  Bag bag;
  grad::NamedParameters p = randomized(bag, 50);
  grad::GradCheck c = grad::grad_check(
      [&](grad::Tape& t, const std::vector<grad::Var>& in) { return std::vector<grad::Var>{f(t, in, bag)}; },
      std::move(inputs), p);
  EXPECT_LT(c.worst, kTolerance) << name << ": " << c.where;
}

double relative_error(const Tensor& a, const Tensor& b) {  // of the largest entry
  double worst = 0, top = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    worst = std::max(worst, std::abs(a.item(i) - b.item(i)));
    top = std::max(top, std::abs(b.item(i)));
  }
  return top > 0 ? worst / top : worst;
}

TEST(NnGradients, EveryOperation) {
  Tensor a = grad::random_normal({3, 6}, 1), b = grad::random_normal({3, 6}, 2), col = grad::random_normal({3, 1}, 3),
         heads = grad::random_normal({3, 2, 4}, 4);
  std::vector<int32_t> positions = {0, 5, 1000}, ids = {2, 6, 2}, targets = {3, -1, 0};
  std::vector<double> weights = {1, 0.5, 2}, freq = {1.0, 0.01}, stretch = {1, 0.7, 0.2};
  check("add", {a, b}, [](grad::Tape& t, auto& x, Bag&) { return add(t, x[0], x[1]); });
  check("add same", {a}, [](grad::Tape& t, auto& x, Bag&) { return add(t, x[0], x[0]); });
  check("mul", {a, b}, [](grad::Tape& t, auto& x, Bag&) { return mul(t, x[0], x[1]); });
  check("scale", {a}, [](grad::Tape& t, auto& x, Bag&) { return scale(t, x[0], -1.7); });
  check("add_bias", {a}, [](grad::Tape& t, auto& x, Bag& p) { return add_bias(t, x[0], p.e); });
  check("mul_columns", {a}, [](grad::Tape& t, auto& x, Bag& p) { return mul_columns(t, x[0], p.d); });
  check("mul_rows", {a, col}, [](grad::Tape& t, auto& x, Bag&) { return mul_rows(t, x[0], x[1]); });
  check("slice", {a}, [](grad::Tape& t, auto& x, Bag&) { return slice_columns(t, x[0], 1, 3); });
  check("concat", {a, b}, [](grad::Tape& t, auto& x, Bag&) { return concat_columns(t, {x[0], x[1], x[0]}); });
  for (auto act : {kernels::Activation::silu, kernels::Activation::gelu, kernels::Activation::gelu_tanh}) {
    check("activate", {a}, [&](grad::Tape& t, auto& x, Bag&) { return activate(t, act, x[0]); });
    check("gated", {a}, [&](grad::Tape& t, auto& x, Bag&) { return gated(t, act, x[0]); });
  }
  check("sum", {a}, [](grad::Tape& t, auto& x, Bag&) { return sum(t, x[0]); });
  check("rms_norm", {a}, [](grad::Tape& t, auto& x, Bag& p) { return rms_norm(t, x[0], p.d, 1e-5); });
  check("layer_norm", {a}, [](grad::Tape& t, auto& x, Bag& p) { return layer_norm(t, x[0], p.d, p.e, 1e-5); });
  check("softmax", {a}, [](grad::Tape& t, auto& x, Bag&) { return softmax(t, x[0]); });
  check("l2_norm", {heads}, [](grad::Tape& t, auto& x, Bag& p) { return l2_norm(t, x[0], &p.h, 2.0, 1e-7); });
  check("l2_norm plain", {heads}, [](grad::Tape& t, auto& x, Bag&) { return l2_norm(t, x[0], nullptr, 2.0, 1e-7); });
  for (auto pairing : {kernels::RopePairing::half, kernels::RopePairing::interleaved})
    for (const kernels::RopeAngles& angles :
         {kernels::RopeAngles{positions, freq}, kernels::RopeAngles{positions, freq, 1.25, stretch}})
      check("rope", {heads}, [&](grad::Tape& t, auto& x, Bag&) { return rope(t, x[0], angles, pairing); });
  check("linear", {a}, [](grad::Tape& t, auto& x, Bag& p) { return linear(t, x[0], p.plain); });
  check("linear with bias", {a}, [](grad::Tape& t, auto& x, Bag& p) { return linear(t, x[0], p.biased); });
  check("linear group", {a}, [](grad::Tape& t, auto& x, Bag& p) { return p.group.forward(t, x[0], {2, 1})[0]; });
  check("linear group, all used", {a}, [](grad::Tape& t, auto& x, Bag& p) {
    return concat_columns(t, p.group.forward(t, x[0], {1, 2}));
  });
  check("merge", {a, b}, [](grad::Tape& t, auto& x, Bag& p) { return residual_merge(t, x[0], x[1], p.merge); });
  check("affine", {a}, [](grad::Tape& t, auto& x, Bag& p) { return affine_in(t, x[0], p.d, p.e); });
  check("embedding", {}, [&](grad::Tape& t, auto&, Bag& p) { return embedding(t, p.table, ids); });
  check("head logits", {a}, [](grad::Tape& t, auto& x, Bag& p) { return head_logits(t, x[0], p.table); });
  check("head loss", {a},
        [&](grad::Tape& t, auto& x, Bag& p) { return head_loss(t, x[0], t.param(p.table), targets, {}); });
  check("weighted head loss", {a},
        [&](grad::Tape& t, auto& x, Bag& p) { return head_loss(t, x[0], t.param(p.table), targets, weights); });
  check("loss twice over", {a}, [&](grad::Tape& t, auto& x, Bag& p) {
    return scale(t, head_loss(t, x[0], t.param(p.table), targets, {}), 3.0);
  });
}

TEST(NnValues, HeadLossIsTheMeanOfMinusLogP) {
  grad::Parameter w({3, 2}, grad::Init::normal());
  w.value = Tensor::of<double>({3, 2}, {1, 0, 0, 1, -1, 2});
  Tensor h = Tensor::of<double>({2, 2}, {0.5, 1, -1, 0.25});
  std::vector<int32_t> targets = {2, 0};
  auto minus_log_p = [](double a, double b, double c, double hit) {
    return std::log(std::exp(a) + std::exp(b) + std::exp(c)) - hit;
  };
  double expected = (minus_log_p(0.5, 1, 1.5, 1.5) + minus_log_p(-1, 0.25, 1.5, -1)) / 2;
  grad::Tape t(grad::Tape::inference);
  EXPECT_NEAR(head_loss(t, grad::Var(h), t.param(w), targets, {}).value.item(), expected, 1e-12);
}

// A packed head, which a loss takes back to f32 by blocks of rows, against the same head in f32 as a whole.
TEST(NnValues, HeadLossOfAPackedHeadIsThatOfItsValues) {
  const Tensor x = grad::random_normal({9, 64}, 6, DType::f32);
  const std::vector<int32_t> targets = {2, 0, -1, 40, 7, 7, 3, 1, 39};
  const kernels::TokenObjective f = [](int64_t, double logprob) { return kernels::TokenTerm{-2 * logprob, -2}; };
  using enum kernels::WeightFormat;
  for (const auto format : {bf16, q8, q4}) {
    SCOPED_TRACE(kernels::format_name(format));
    const auto w = kernels::PrepackedWeight::pack(grad::random_normal({41, 64}, 5, DType::f32), format);
    const auto compare = [&](auto&& loss) {
      std::vector<Tensor> values, grads;
      for (const HeadWeight& head : {HeadWeight(grad::Var(unpacked(w))), HeadWeight(w)}) {
        grad::Tape t;
        const grad::Var h = t.input(x), y = loss(t, h, head);
        t.backward(y);
        values.push_back(y.value), grads.push_back(t.grad(h));
      }
      EXPECT_EQ(values[0].item(), values[1].item());
      for (int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(grads[0].item(i), grads[1].item(i));
    };
    compare([&](grad::Tape& t, const grad::Var& h, const HeadWeight& head) {
      return head_loss(t, h, head, targets, {});
    });
    compare([&](grad::Tape& t, const grad::Var& h, const HeadWeight& head) {
      return head_objective(t, h, head, {.targets = targets, .f = f});
    });
  }
}

TEST(NnValues, InitialValuesDependOnNameAndSeedOnly) {
  Bag a, b;
  initialize(a, 3);
  initialize(b, 3);
  EXPECT_EQ(a.table.value.item(5), b.table.value.item(5));
  initialize(b, 4);
  EXPECT_NE(a.table.value.item(5), b.table.value.item(5));
  EXPECT_EQ(a.d.value.item(0), 1);
  double square = 0;
  for (float x : a.table.value.span<float>()) square += static_cast<double>(x) * x;
  EXPECT_NEAR(std::sqrt(square / 42), 0.02, 0.008);
  EXPECT_EQ(parameter_count(a), 6 + 6 + 2 + 42 + 24 + 30 + 5 + 24 + 24 + 4 + 18 + 12 + 2);
}

TEST(NnValues, PackedLinearEqualsPlain) {
  Linear l(37, 65, Bias::yes);
  initialize(l, 1);
  l.bias.value = grad::random_normal({37}, 5, DType::f32);
  Tensor x = grad::random_normal({9, 65}, 6, DType::f32);
  grad::Tape t(grad::Tape::inference);
  Tensor plain = linear(t, grad::Var(x), l).value;
  l.pack(DType::f32);
  Tensor packed = linear(t, grad::Var(x), l).value;
  for (int64_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain.item(i), packed.item(i), 1e-5);
}

TEST(NnValues, Bf16TapeRoundsTheOperandsOfLargeProductsAlone) {
  Linear l(37, 66, Bias::yes);
  initialize(l, 1);
  Tensor x = grad::random_normal({19, 66}, 6, DType::f32), gy = grad::random_normal({19, 37}, 7, DType::f32);
  auto run = [&](bool bf16) {
    l.weight.zero_grad();
    grad::Tape t(grad::Tape::training, bf16 ? grad::Precision::bf16 : grad::Precision::f32);
    grad::Var in = t.input(x), y = linear(t, in, l);
    t.backward({y}, {gy});
    return std::vector<Tensor>{y.value.clone(), t.grad(in).clone(), l.weight.grad.clone()};
  };
  auto rounded = [](const Tensor& v) { return v.to(DType::bf16).to(DType::f32); };
  Tensor xr = rounded(x), wr = rounded(l.weight.value), gr = rounded(gy);
  std::vector<Tensor> want = {Tensor::zeros({19, 37}, DType::f32), Tensor::zeros(x.shape(), DType::f32),
                              Tensor::zeros(l.weight.shape, DType::f32)};
  kernels::gemm_ref<float>(xr.view<const float, 2>(), wr.view<const float, 2>(), want[0].view<float, 2>(),
                           {.trans_b = true});
  kernels::gemm_ref<float>(gr.view<const float, 2>(), wr.view<const float, 2>(), want[1].view<float, 2>());
  kernels::gemm_ref<float>(gr.view<const float, 2>(), xr.view<const float, 2>(), want[2].view<float, 2>(),
                           {.trans_a = true});
  std::vector<Tensor> exact = run(false), got = run(true);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_LE(relative_error(got[i], want[i]), 1e-6) << i;
    EXPECT_GE(relative_error(got[i], exact[i]), 1e-5) << i;
  }
  l.weight.matrix = false;
  got = run(true);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(relative_error(got[i], exact[i]), 0) << i;
}

TEST(NnValues, PackedGroupEqualsItsParts) {
  Bag bag;
  randomized(bag, 9);
  bag.visit("", [](const std::string&, grad::Parameter& p) { p.value = p.value.to(DType::f32); });
  grad::Var x(grad::random_normal({9, 6}, 6, DType::f32));
  grad::Tape t(grad::Tape::inference);
  std::vector<Tensor> parts;
  for (size_t i = 0; i < 3; ++i) parts.push_back(linear(t, x, bag.group.part(i)).value);
  for (bool packed : {false, true}) {
    if (packed) bag.group.pack(DType::f32);
    std::vector<grad::Var> y = bag.group.forward(t, x, {2, 1});
    for (int64_t r = 0; r < 9; ++r)
      for (int64_t c = 0; c < 9; ++c) {
        float got = c < 7 ? y[0].value.view<const float, 2>()(r, c) : y[1].value.view<const float, 2>()(r, c - 7);
        const Tensor& part = parts[c < 4 ? 0 : c < 7 ? 1 : 2];
        EXPECT_NEAR(got, (part.view<const float, 2>()(r, c < 4 ? c : c < 7 ? c - 4 : c - 7)), 1e-5);
      }
  }
}

TEST(Nn, BackwardPassesHaveTheNamesOfTheirOperationsInTraces) {
  grad::Parameter w({4, 3}, grad::Init::normal());
  w.value = Tensor::full({4, 3}, DType::f32, 0.5);
  trace::start();
  grad::Tape tape;
  const grad::Var x = tape.input(Tensor::full({2, 3}, DType::f32, 1));
  tape.backward(sum(tape, linear(tape, x, tape.param(w), grad::Precision::f32)));
  int forward = 0, backward = 0, products = 0;
  for (const trace::Event& e : trace::stop()) {
    if (e.name == "linear") ++(e.backward ? backward : forward);
    if (e.kind != trace::Kind::product) continue;
    ++products;
    EXPECT_EQ(e.flops, 2 * 2 * 4 * 3) << e.name;
  }
  EXPECT_EQ(forward, 1);
  EXPECT_EQ(backward, 1);
  EXPECT_EQ(products, 3) << "the output, and the gradients of input and weight";
}

}  // namespace
}  // namespace quern::nn
