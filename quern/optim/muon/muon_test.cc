// Muon against steps made by the published formulas in double (tools/oracles/optim), singular values after
// Newton-Schulz, logical matrices, and independence of the thread count.
#include "quern/optim/muon/muon.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/rng.h"
#include "quern/base/threads.h"
#include "quern/tensor/safetensors.h"

namespace quern::optim {
namespace {

const SafetensorsFile& goldens() {
  static const SafetensorsFile f(QUERN_SOURCE_DIR "/tests/goldens/optim/muon.safetensors");
  return f;
}

// Singular values by one-sided Jacobi rotations in double; x lies or stands.
std::vector<double> singular_values(const Tensor& x) {
  const bool turn = x.dim(0) > x.dim(1);
  const int64_t m = x.dim(turn ? 1 : 0), k = x.dim(turn ? 0 : 1);
  std::vector<std::vector<double>> r(static_cast<size_t>(m), std::vector<double>(static_cast<size_t>(k)));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < k; ++j) r[i][j] = x.item(turn ? j * m + i : i * k + j);
  auto dot = [](const auto& a, const auto& b) {
    double s = 0;
    for (size_t i = 0; i < a.size(); ++i) s += a[i] * b[i];
    return s;
  };
  for (int sweep = 0; sweep < 30; ++sweep) {
    double off = 0;
    for (size_t p = 0; p < r.size(); ++p)
      for (size_t q = p + 1; q < r.size(); ++q) {
        const double a = dot(r[p], r[p]), b = dot(r[q], r[q]), c = dot(r[p], r[q]);
        off = std::max(off, std::abs(c) / std::sqrt(a * b + 1e-300));
        if (c == 0) continue;
        const double z = (b - a) / (2 * c), t = (z >= 0 ? 1 : -1) / (std::abs(z) + std::sqrt(1 + z * z)),
                     cs = 1 / std::sqrt(1 + t * t), sn = cs * t;
        for (size_t j = 0; j < r[p].size(); ++j) {
          const double u = r[p][j], v = r[q][j];
          r[p][j] = cs * u - sn * v, r[q][j] = sn * u + cs * v;
        }
      }
    if (off < 1e-12) break;
  }
  std::vector<double> s;
  for (const auto& row : r) s.push_back(std::sqrt(dot(row, row)));
  std::sort(s.begin(), s.end());
  return s;
}

Tensor orthogonalized(const std::string& golden, const NewtonSchulzOptions& o) {
  Tensor x = goldens().tensor(golden + ".in").clone();
  newton_schulz(x.view<float, 2>(), o);
  return x;
}

double worst(const Tensor& got, const Tensor& want) {
  double w = 0;
  for (int64_t i = 0; i < got.size(); ++i) w = std::max(w, std::abs(got.item(i) - want.item(i)));
  return w;
}

constexpr const char* kConditioned[] = {"ns.48x80.10", "ns.80x48.100", "ns.64x64.1000"};

TEST(NewtonSchulz, MatchesThePublishedFormulaInDouble) {
  for (const char* name : kConditioned) {
    SCOPED_TRACE(name);
    using enum NewtonSchulzOptions::Coefficients;
    const Tensor want = goldens().tensor(std::string(name) + ".out");
    EXPECT_LT(worst(orthogonalized(name, {.steps = 5, .dtype = DType::f32, .coefficients = published}), want), 2e-5);
    EXPECT_LT(worst(orthogonalized(name, {.steps = 5, .dtype = DType::bf16, .coefficients = published}), want),
              0.06);  // 2⁻⁸ a rounding, eleven of them
  }
}

// The published coefficients bring condition 100 into the band in 5 steps and condition 1000 in 7; the minimax ones
// condition 1000 in 6, normal numbers of any shape too.
TEST(NewtonSchulz, SingularValuesEndNearOne) {
  using enum NewtonSchulzOptions::Coefficients;
  for (DType t : {DType::f32, DType::bf16}) {
    for (const char* name : kConditioned) {
      SCOPED_TRACE(fmt::format("{} {}", name, dtype_name(t)));
      std::vector<double> s = singular_values(orthogonalized(name, {.dtype = t, .coefficients = minimax}));
      EXPECT_GT(s.front(), 0.7);
      EXPECT_LT(s.back(), 1.2);
      const bool hard = std::string(name).ends_with("1000");
      s = singular_values(orthogonalized(name, {.steps = hard ? 7 : 5, .dtype = t, .coefficients = published}));
      EXPECT_GT(s.front(), 0.66);
      EXPECT_LT(s.back(), 1.23);
    }
  }
}

TEST(NewtonSchulz, ZeroStaysZero) {
  for (DType t : {DType::f32, DType::bf16}) {
    Tensor x = Tensor::zeros({5, 3}, DType::f32);
    newton_schulz(x.view<float, 2>(), {.dtype = t});
    for (int64_t i = 0; i < x.size(); ++i) EXPECT_EQ(x.item(i), 0);
  }
}

struct One {
  grad::Parameter p;
  OptimizerSlot slot;
  const Muon muon;
  One(Tensor w, MuonOptions o) : muon(std::move(o)) {
    p.shape = w.shape(), p.value = std::move(w);
    slot.name = "w", slot.parameter = &p;
    slot.state = OptimizerState(muon.state("w", p));
  }
  void step(Tensor g, const OptimizerStep& s) {
    p.grad = std::move(g);
    OptimizerSlot* slots[] = {&slot};
    muon.step(slots, s);
  }
};

TEST(Muon, FollowsThePublishedSteps) {
  struct Variant {
    const char* name;
    MuonOptions o;
  };
  const Variant variants[] = {
      {"nesterov", {}}, {"heavy", {.nesterov = false}}, {"bare", {.momentum = 0}}, {"jordan", {.scale = "jordan"}}};
  for (const char* shape : {"standing", "lying"})
    for (Variant v : variants) {
      SCOPED_TRACE(fmt::format("{} {}", shape, v.name));
      v.o.dtype = "f32", v.o.coefficients = "published";
      One one(goldens().tensor(fmt::format("{}.w0", shape)).clone(), v.o);
      EXPECT_EQ(one.slot.state.size(), v.o.momentum == 0 ? 0u : 1u);
      for (int k = 0; k < 4; ++k) {
        one.step(goldens().tensor(fmt::format("{}.g{}", shape, k)).clone(), {.lr = 0.02});
        EXPECT_LT(worst(one.p.value, goldens().tensor(fmt::format("{}.{}.w{}", shape, v.name, k + 1))), 2e-5);
      }
    }
}

Tensor noise(Shape shape, uint64_t seed) {
  Tensor t = Tensor::empty(std::move(shape), DType::f32);
  Rng rng(seed);
  for (float& x : t.span<float>()) x = static_cast<float>(rng.normal());
  return t;
}

// What Muon moves a weight by, with nothing said but the gradient: all singular values in [0.7, 1.2].
TEST(Muon, ADefaultStepIsNearlyOrthogonal) {
  constexpr double kLr = 0.5;
  auto moved = [&](const Tensor& g) {
    One one(Tensor::zeros(g.shape(), DType::f32), {.weight_decay = 0});
    one.step(g.clone(), {.lr = kLr});
    const double scale = 0.2 * std::sqrt(static_cast<double>(std::max(g.dim(0), g.dim(1))));
    for (float& x : one.p.value.span<float>()) x = static_cast<float>(-x / (kLr * scale));
    return singular_values(one.p.value);
  };
  for (const char* name : kConditioned) {
    const std::vector<double> s = moved(goldens().tensor(std::string(name) + ".in"));
    EXPECT_GT(s.front(), 0.7) << name;
    EXPECT_LT(s.back(), 1.2) << name;
  }
  for (const Shape& shape : {Shape{96, 64}, Shape{40, 120}, Shape{64, 96}, Shape{8, 500}, Shape{2, 3}}) {
    const std::vector<double> s = moved(noise(shape, 9));
    EXPECT_GT(s.front(), 0.7) << to_string(shape);
    EXPECT_LT(s.back(), 1.2) << to_string(shape);
  }
  for (int64_t n : {48, 64, 100, 128}) {  // the smallest singular value of a square is anywhere near zero
    const std::vector<double> s = moved(noise({n, n}, 9));
    EXPECT_GT(s[2], 0.7) << n;
    EXPECT_LT(s.back(), 1.2) << n;
  }
}

// A stack of experts whose gate and up lie one upon the other is E matrices, or 2·E when split.
TEST(Muon, EachLogicalMatrixByItself) {
  for (bool split : {false, true}) {
    MuonOptions o{.split_fused = split, .dtype = "f32"};
    Tensor w = noise({3, 8, 6}, 1), g = noise({3, 8, 6}, 2);
    One all(w.clone(), o);
    all.p.fused = 2;
    all.step(g.clone(), {.lr = 0.1});
    const int64_t parts = split ? 6 : 3, rows = split ? 4 : 8;
    for (int64_t i = 0; i < parts; ++i) {
      auto part = [&](const Tensor& t) {
        return t.reshape({parts, rows, 6}).narrow(0, i, 1).reshape({rows, 6}).clone();
      };
      One alone(part(w), o);
      alone.step(part(g), {.lr = 0.1});
      EXPECT_EQ(worst(alone.p.value, part(all.p.value)), 0);
    }
  }
}

TEST(Muon, ThreadCountDoesNotShow) {
  const int before = thread_count();
  Tensor got[2];
  for (int run = 0; run < 2; ++run) {
    set_thread_count(run ? 3 : 1);
    One one(noise({4, 130, 70}, 1), {});
    for (uint64_t k = 0; k < 2; ++k) one.step(noise({4, 130, 70}, 5 + k), {.lr = 0.1, .grad_scale = 0.5});
    got[run] = one.p.value;
  }
  set_thread_count(before);
  EXPECT_EQ(worst(got[0], got[1]), 0);
}

TEST(Muon, WrongOptionsAreErrors) {
  EXPECT_THROW(Muon({.momentum = 1}), Error);
  EXPECT_THROW(Muon({.dtype = "f16"}), Error);
  EXPECT_THROW(Muon({.scale = "none"}), Error);
  grad::Parameter vector({4}, grad::Init::constant(1));
  EXPECT_THROW(Muon({}).state("norm", vector), Error);
}

}  // namespace
}  // namespace quern::optim
