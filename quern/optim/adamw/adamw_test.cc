// AdamW against torch.optim.AdamW (tools/oracles/optim) on every instruction set, its parts of state, and clipping
// folded into the step.
#include "quern/optim/adamw/adamw.h"

#include <gtest/gtest.h>

#include <cmath>

#include "quern/base/cpu.h"
#include "quern/base/threads.h"
#include "quern/tensor/safetensors.h"

namespace quern::optim {
namespace {

struct One {
  grad::Parameter p;
  OptimizerSlot slot;
  const AdamW adamw;
  One(Tensor w, AdamWOptions o) : adamw(o) {
    p.shape = w.shape(), p.value = std::move(w);
    slot.name = "w", slot.parameter = &p;
    slot.state = OptimizerState(adamw.state("w", p));
  }
  void step(Tensor g, const OptimizerStep& s) {
    p.grad = std::move(g);
    OptimizerSlot* slots[] = {&slot};
    adamw.step(slots, s);
  }
};

TEST(AdamW, FollowsTorch) {
  SafetensorsFile f(QUERN_SOURCE_DIR "/tests/goldens/optim/adamw.safetensors");
  const Isa before = active_isa();
  for (Isa isa : {Isa::ref, Isa::avx2, Isa::avx512}) {
    if (isa > detected_isa()) continue;
    set_active_isa(isa);
    One one(f.tensor("w0").clone(), {});
    for (int k = 0; k < 5; ++k) {
      one.step(f.tensor(fmt::format("g{}", k)).clone(), {.lr = 3e-3});
      const Tensor want = f.tensor(fmt::format("w{}", k + 1));
      for (int64_t i = 0; i < want.size(); ++i)
        ASSERT_NEAR(one.p.value.item(i), want.item(i), 1e-6) << isa_name(isa) << " step " << k << " element " << i;
    }
    EXPECT_EQ(one.slot.state.at("step").item(), 5);
  }
  set_active_isa(before);
}

// On the first step m̂ = g and v̂ = g², so the update is lr·sign(g), whatever the betas.
TEST(AdamW, FirstStepIsSignOfGradient) {
  One one(Tensor::of<float>({1, 2}, {1.0f, -2.0f}), {.weight_decay = 0.1});
  one.step(Tensor::of<float>({1, 2}, {0.1f, -0.2f}), {.lr = 0.01});
  EXPECT_NEAR(one.p.value.item(0), 1.0 * (1 - 0.001) - 0.01, 1e-6);
  EXPECT_NEAR(one.p.value.item(1), -2.0 * (1 - 0.001) + 0.01, 1e-6);
}

TEST(AdamW, GradScaleIsAScaledGradient) {
  One a(Tensor::full({37}, DType::f32, 0.5), {}), b(Tensor::full({37}, DType::f32, 0.5), {});
  for (int k = 1; k < 4; ++k) {
    a.step(Tensor::full({37}, DType::f32, k), {.lr = 0.01, .grad_scale = 0.25});
    b.step(Tensor::full({37}, DType::f32, k * 0.25), {.lr = 0.01});
  }
  for (int64_t i = 0; i < 37; ++i) EXPECT_EQ(a.p.value.item(i), b.p.value.item(i));
}

TEST(AdamW, ThreadCountAndCutsDoNotShow) {
  const int before = thread_count();
  const int64_t n = (1 << 17) + 77;
  Tensor w = Tensor::empty({n}, DType::f32), g = Tensor::empty({n}, DType::f32);
  for (int64_t i = 0; i < n; ++i)
    w.data<float>()[i] = static_cast<float>(std::sin(i)), g.data<float>()[i] = static_cast<float>(std::cos(3 * i));
  Tensor got[2];
  for (int run = 0; run < 2; ++run) {
    set_thread_count(run ? 3 : 1);
    One one(w.clone(), {});
    one.slot.working = one.p.value.to(DType::bf16);
    for (int k = 0; k < 2; ++k) one.step(g.clone(), {.lr = 0.01});
    got[run] = one.p.value;
    for (int64_t i = 0; i < n; i += 101)
      ASSERT_EQ(one.slot.working.data<bf16>()[i].bits, bf16(one.p.value.data<float>()[i]).bits);
  }
  set_thread_count(before);
  EXPECT_TRUE(std::equal(got[0].data<float>(), got[0].data<float>() + n, got[1].data<float>()));

  Tensor m = Tensor::zeros({n}, DType::f32), v = Tensor::zeros({n}, DType::f32), cut = w.clone();
  for (int64_t t = 1; t <= 2; ++t)
    for (auto [begin, end] : {std::pair<int64_t, int64_t>{0, 13}, {13, 70001}, {70001, n}})
      adamw_update({cut.data<float>() + begin, g.data<float>() + begin, m.data<float>() + begin,
                    v.data<float>() + begin, end - begin},
                   {}, 0.01, 1, t);
  EXPECT_TRUE(std::equal(got[0].data<float>(), got[0].data<float>() + n, cut.data<float>()));
}

TEST(AdamW, WrongOptionsAreErrors) {
  EXPECT_THROW(AdamW({.beta1 = 1}), Error);
  EXPECT_THROW(AdamW({.eps = -1}), Error);
  EXPECT_THROW(AdamW({.weight_decay = std::nan("")}), Error);
}

}  // namespace
}  // namespace quern::optim
