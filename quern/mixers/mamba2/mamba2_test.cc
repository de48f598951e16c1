// Mamba-2: finite differences of everything over several documents, any split of a sequence against the whole,
// documents apart, sequences side by side, the layer against its equations written out in double.
#include "quern/mixers/mamba2/mamba2_mixer.h"

#include "quern/mixers/ssm_test_util.h"

namespace quern::mixers {
namespace {

Mamba2Config config(int64_t heads, int64_t groups, int64_t taps = 4) {
  Mamba2Config c;
  c.width = 6;
  c.n_head = heads;
  c.head_dim = 3;
  c.n_state = 2;
  c.n_group = groups;
  c.taps = taps;
  return c;
}

TEST(Mamba2, FiniteDifferences) {
  for (const Mamba2Config& c : {config(2, 1), config(4, 2), config(3, 3, 2)}) {
    Mamba2Mixer m(c);
    expect_gradients(m, c.width);
  }
}

TEST(Mamba2, AnySplitAndDocuments) {
  for (auto [heads, groups] : {std::pair<int64_t, int64_t>{2, 1}, {4, 2}}) {
    Mamba2Config c = config(heads, groups);
    c.head_dim = 16, c.n_state = 8;
    expect_any_split([&] { return std::make_unique<Mamba2Mixer>(c); }, c.width);
  }
}

// The layer token by token, straight from the equations.
TEST(Mamba2, IsItsEquations) {
  const Mamba2Config c = config(4, 2);
  Mamba2Mixer m(c);
  std::map<std::string, Tensor> w;
  for (auto& [name, p] : nn::randomized(m, 3)) w[name] = p->value;
  const int64_t T = 9, I = c.inner(), N = c.n_state, GN = c.n_group * N, C = c.channels(), W = I + C + c.n_head;
  Tensor x = grad::random_normal({T, c.width}, 4), got;
  grad::Tape tape(grad::Tape::inference);
  got = m.forward(tape, grad::Var(x), Batch::single(T), 0).value;
  auto silu = [](double v) { return v / (1 + std::exp(-v)); };
  std::vector<std::vector<double>> rows;
  std::vector<double> S(static_cast<size_t>(c.n_head * c.head_dim * N), 0.0);
  for (int64_t t = 0; t < T; ++t) {
    std::vector<double> p(static_cast<size_t>(W), 0.0), v(static_cast<size_t>(C)), u(static_cast<size_t>(I));
    for (int64_t i = 0; i < W; ++i)
      for (int64_t k = 0; k < c.width; ++k)
        p[static_cast<size_t>(i)] += w["in_proj.weight"].item(i * c.width + k) * x.item(t * c.width + k);
    rows.push_back(p);
    for (int64_t i = 0; i < C; ++i) {
      double sum = w["conv1d.bias"].item(i);
      for (int64_t k = 0; k < 4; ++k)
        if (t - 3 + k >= 0)
          sum +=
              w["conv1d.weight"].item(i * 4 + k) * rows[static_cast<size_t>(t - 3 + k)][static_cast<size_t>(I + i)];
      v[static_cast<size_t>(i)] = silu(sum);
    }
    for (int64_t h = 0; h < c.n_head; ++h) {
      const int64_t g = h / (c.n_head / c.n_group);
      const double dt = std::log1p(std::exp(p[static_cast<size_t>(I + C + h)] + w["dt_bias"].item(h)));
      const double decay = std::exp(-std::exp(w["A_log"].item(h)) * dt);
      for (int64_t q = 0; q < c.head_dim; ++q) {
        const double xq = v[static_cast<size_t>(h * c.head_dim + q)];
        double y = w["D"].item(h) * xq;
        for (int64_t n = 0; n < N; ++n) {
          double& s = S[static_cast<size_t>((h * c.head_dim + q) * N + n)];
          s = decay * s + dt * xq * v[static_cast<size_t>(I + g * N + n)];
          y += s * v[static_cast<size_t>(I + GN + g * N + n)];
        }
        u[static_cast<size_t>(h * c.head_dim + q)] = y * silu(p[static_cast<size_t>(h * c.head_dim + q)]);
      }
    }
    const int64_t per = I / c.n_group;
    for (int64_t g = 0; g < c.n_group; ++g) {
      double squares = 0;
      for (int64_t i = g * per; i < (g + 1) * per; ++i)
        squares += u[static_cast<size_t>(i)] * u[static_cast<size_t>(i)];
      for (int64_t i = g * per; i < (g + 1) * per; ++i)
        u[static_cast<size_t>(i)] *= w["norm.weight"].item(i) / std::sqrt(squares / static_cast<double>(per) + 1e-5);
    }
    for (int64_t o = 0; o < c.width; ++o) {
      double sum = 0;
      for (int64_t i = 0; i < I; ++i) sum += w["out_proj.weight"].item(o * I + i) * u[static_cast<size_t>(i)];
      EXPECT_NEAR(got.item(t * c.width + o), sum, 1e-10) << t;
    }
  }
}

TEST(Mamba2, MistakesAreNamed) {
  auto message = [](auto&& change) {
    return message_of([&] {
      Mamba2Config c = config(4, 2);
      change(c);
      Mamba2Mixer m(c);
    });
  };
  EXPECT_NE(message([](Mamba2Config& c) { c.n_group = 3; }).find("n_head 4 is not a multiple of n_group 3"),
            std::string::npos);
  EXPECT_NE(message([](Mamba2Config& c) { c.taps = 9; }).find("taps 9"), std::string::npos);
  EXPECT_NE(message([](Mamba2Config& c) { c.n_state = 0; }).find("n_state 0"), std::string::npos);
}

}  // namespace
}  // namespace quern::mixers
