// Mamba-1 with heads: finite differences of everything over several documents, any split of a sequence against the
// whole, documents apart, the layer against its equations written out in double.
#include "quern/mixers/mamba1/mamba1_mixer.h"

#include "quern/mixers/ssm_test_util.h"

namespace quern::mixers {
namespace {

Mamba1Config config(int64_t heads) {
  Mamba1Config c;
  c.width = 6;
  c.inner = 8;
  c.n_head = heads;
  c.n_state = 3;
  c.dt_rank = 2;
  return c;
}

TEST(Mamba1, FiniteDifferences) {
  for (int64_t heads : {1, 2}) {
    Mamba1Mixer m(config(heads));
    expect_gradients(m, 6);
  }
}

TEST(Mamba1, AnySplitAndDocuments) {
  for (int64_t heads : {1, 2}) expect_any_split([&] { return std::make_unique<Mamba1Mixer>(config(heads)); }, 6);
}

TEST(Mamba1, IsItsEquations) {
  const Mamba1Config c = config(2);
  Mamba1Mixer m(c);
  std::map<std::string, Tensor> w;
  for (auto& [name, p] : nn::randomized(m, 3)) w[name] = p->value;
  const int64_t T = 9, I = c.inner, N = c.n_state, R = c.dt_rank, C = c.head_channels(), S = R + 2 * N;
  Tensor x = grad::random_normal({T, c.width}, 4), got;
  grad::Tape tape(grad::Tape::inference);
  got = m.forward(tape, grad::Var(x), Batch::single(T), 0).value;
  auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  std::vector<std::vector<double>> xs;
  std::vector<double> state(static_cast<size_t>(I * N), 0.0);
  for (int64_t t = 0; t < T; ++t) {
    std::vector<double> xt(static_cast<size_t>(I)), z(xt), u(xt), y(xt);
    for (int64_t i = 0; i < 2 * I; ++i) {
      double sum = 0;
      for (int64_t k = 0; k < c.width; ++k)
        sum += w["in_proj.weight"].item(i * c.width + k) * x.item(t * c.width + k);
      (i % 2 ? z : xt)[static_cast<size_t>(i / 2)] = sum;
    }
    xs.push_back(xt);
    for (int64_t i = 0; i < I; ++i) {
      double sum = w["conv1d.bias"].item(i);
      for (int64_t k = 0; k < 4; ++k)
        if (t - 3 + k >= 0)
          sum += w["conv1d.weight"].item(i * 4 + k) * xs[static_cast<size_t>(t - 3 + k)][static_cast<size_t>(i)];
      u[static_cast<size_t>(i)] = silu(sum);
    }
    for (int64_t h = 0; h < 2; ++h) {
      std::vector<double> s(static_cast<size_t>(S), 0.0);
      for (int64_t i = 0; i < S; ++i)
        for (int64_t k = 0; k < C; ++k)
          s[static_cast<size_t>(i)] +=
              w["x_proj_weight"].item((h * S + i) * C + k) * u[static_cast<size_t>(h * C + k)];
      for (int64_t k = 0; k < C; ++k) {
        const int64_t ch = h * C + k;
        double dt = w["dt_proj_bias"].item(ch);
        for (int64_t r = 0; r < R; ++r) dt += w["dt_proj_weight"].item(ch * R + r) * s[static_cast<size_t>(r)];
        dt = std::log1p(std::exp(dt));
        double sum = w["D"].item(ch) * u[static_cast<size_t>(ch)];
        for (int64_t n = 0; n < N; ++n) {
          double& v = state[static_cast<size_t>(ch * N + n)];
          v = std::exp(-std::exp(w["A_log"].item(ch * N + n)) * dt) * v +
              dt * s[static_cast<size_t>(R + n)] * u[static_cast<size_t>(ch)];
          sum += v * s[static_cast<size_t>(R + N + n)];
        }
        y[static_cast<size_t>(ch)] = sum * silu(z[static_cast<size_t>(ch)]);
      }
    }
    for (int64_t o = 0; o < c.width; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < I; ++i) sum += w["out_proj.weight"].item(o * I + i) * y[static_cast<size_t>(i)];
      EXPECT_NEAR(got.item(t * c.width + o), sum, 1e-10) << t;
    }
  }
}

TEST(Mamba1, MistakesAreNamed) {
  EXPECT_NE(message_of([] { Mamba1Mixer m(config(3)); }).find("inner 8 is not a multiple of n_head 3"),
            std::string::npos);
  EXPECT_NE(message_of([] {
              Mamba1Config c = config(2);
              c.n_state = 1000;
              Mamba1Mixer m(c);
            }).find("n_state 1000"),
            std::string::npos);
}

}  // namespace
}  // namespace quern::mixers
