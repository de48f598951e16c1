// Adapters that learn beside a frozen model: gradients of A and B against torch's and PEFT's for every family, over
// quantized bases by differences along the gradient, dropout that recomputed layers repeat, and what is saved read back.
#include "quern/models/trained_adapter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/nn/frozen_linear.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kTokens = 64;

fs::path adapter_folder(const std::string& name) {
  return fs::path(QUERN_SOURCE_DIR) / "tests" / "goldens" / "adapters" / name;
}

Golden base_of(const std::string& adapter) {
  const std::string text = read_file(adapter_folder(adapter) / "base.txt");
  return Golden(text.substr(0, text.find('\n')));
}

// The settings of a PEFT golden, every matrix by its whole name.
models::LoraSettings settings_of(const std::string& adapter) {
  const Json j = Json::read(adapter_folder(adapter) / "adapter_config.json");
  models::LoraSettings s{.rank = j.at("r").as_int(), .alpha = j.at("lora_alpha").as_double()};
  s.scaling = j.at("use_rslora") == Json(true) ? "rslora" : "lora";
  const SafetensorsFile grads(adapter_folder(adapter) / "grads.safetensors");
  for (const auto& [name, entry] : grads.entries())
    if (const size_t end = name.find(".lora_A."); end != name.npos)
      s.targets.push_back(name.substr(17, end - 17));  // after base_model.model.
  return s;
}

struct Learner {
  Learner(const Golden& g, models::LoraSettings settings, models::LoadOptions options = {.dtype = DType::f32})
      : golden(g), adapter(std::move(settings), 1) {
    options.paths = &adapter;
    model = models::load_model(nn::builtin_registry(), g.folder, options);
    adapter.finish();
  }
  // B is no longer zero, so that A has a gradient.
  void randomize(double size) {
    uint64_t n = 0;
    adapter.visit("", [&](const std::string&, grad::Parameter& p) {
      Rng random(9, n++);
      for (float& x : p.value.span<float>()) x = static_cast<float>(size * random.normal());
    });
  }
  void take(const fs::path& folder) {
    const SafetensorsFile file(folder / "adapter_model.safetensors");
    adapter.visit("", [&](const std::string& name, grad::Parameter& p) { p.value.copy_from(file.tensor(name)); });
  }
  grad::Var loss(grad::Tape& tape) {
    std::vector<int32_t> ids(golden.tokens.begin(), golden.tokens.begin() + kTokens),
        targets(ids.begin() + 1, ids.end());
    targets.push_back(-1);
    const std::vector<int64_t> lengths = {kTokens};
    return model->loss(tape, model->hidden(tape, ids, mixers::Batch::documents(lengths)), targets);
  }
  double value() {
    grad::Tape tape(grad::Tape::inference);
    return loss(tape).value.item();
  }
  void backward(bool recompute = false) {
    nn::zero_grad(adapter);
    grad::Tape tape;
    tape.recompute_layers = recompute;
    tape.backward(loss(tape));
  }
  const Golden& golden;
  models::TrainedAdapter adapter;
  std::unique_ptr<models::Model> model;
};

class TrainedAdapters : public testing::TestWithParam<const char*> {};

TEST_P(TrainedAdapters, GradientsEqualTorch) {
  const Golden g = base_of(GetParam());
  Learner l(g, settings_of(GetParam()));
  l.take(adapter_folder(GetParam()));
  const SafetensorsFile expected(adapter_folder(GetParam()) / "grads.safetensors");
  for (const bool recompute : {false, true}) {
    l.backward(recompute);
    size_t seen = 0;
    l.adapter.visit("", [&](const std::string& name, grad::Parameter& p) {
      EXPECT_LE(relative_error(p.grad, expected.tensor(name)), 2e-4) << name;
      ++seen;
    });
    EXPECT_EQ(seen, expected.entries().size());
  }
  l.model->visit("", [](const std::string& name, grad::Parameter& p) {
    EXPECT_TRUE(!p.grad.defined() || p.kind == grad::ParameterKind::balance) << name << " is frozen";
  });
}

INSTANTIATE_TEST_SUITE_P(All, TrainedAdapters,
                         testing::Values("qwen2", "zaya", "zamba", "zamba2-2block", "granite-h", "falcon-h1",
                                         "nemotron-h"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

// Quantizes a matrix and hands it out in f32: what a quantized base computes but for the rounding of its inputs.
struct QuantizedInFull : nn::PrepackHook {
  kernels::PrepackedWeight matrix(const std::string&, int64_t, int64_t, const kernels::QuantFormat& s,
                                  const std::function<Tensor()>& plain) override {
    return kernels::PrepackedWeight::pack(nn::unpacked(kernels::PrepackedWeight::pack(plain(), s)), DType::f32);
  }
};

std::vector<float> gradients(Learner& l) {
  l.backward();
  std::vector<float> all;
  l.adapter.visit("", [&](const std::string&, grad::Parameter& p) {
    all.insert(all.end(), p.grad.span<float>().begin(), p.grad.span<float>().end());
  });
  return all;
}

double product(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

// In f32 the gradient's own length is the slope of the loss along it.
TEST(TrainedAdapterBases, GradientsAreSlopes) {
  for (const char* name : {"llama-gqa", "zaya-2-4x2", "zamba2-2block", "zamba-6", "granite-h-moe", "falcon-h1"}) {
    const Golden g(name);
    Learner l(g, {.rank = 2});
    l.randomize(0.05);
    const std::vector<float> gradient = gradients(l);
    const double length = std::sqrt(product(gradient, gradient)), h = 2e-3;
    auto move = [&](double by) {
      size_t at = 0;
      l.adapter.visit("", [&](const std::string&, grad::Parameter& p) {
        for (float& x : p.value.span<float>())
          x += static_cast<float>(by * static_cast<double>(gradient[at++]) / length);
      });
    };
    move(h);
    const double up = l.value();
    move(-2 * h);
    EXPECT_NEAR((up - l.value()) / (2 * h), length, 0.03 * length) << name;
  }
}

// Over a quantized base it is the gradient of the same weights in f32, but for the bf16 that inputs of quantized
// products are rounded to.
TEST(TrainedAdapterBases, GradientsAreThoseOfTheWeightsAsTheyMultiply) {
  for (const char* name : {"llama-gqa", "zaya-2-4x2", "zamba2-2block", "zamba-6", "granite-h-moe", "falcon-h1"})
    for (const char* format : {"q8", "q4"}) {
      const Golden g(name);
      QuantizedInFull in_full;
      models::LoadOptions packed{.scheme = kernels::QuantFormat(kernels::parse_format(format, "format"))},
          full = packed;
      full.hook = &in_full;
      Learner reference(g, {.rank = 2}, full), quantized(g, {.rank = 2}, packed), plain(g, {.rank = 2});
      std::vector<float> found[3];
      for (size_t i = 0; Learner * l : {&reference, &quantized, &plain})
        l->randomize(0.05), found[i++] = gradients(*l);
      auto cosine = [&](size_t i) {
        return product(found[0], found[i]) / std::sqrt(product(found[0], found[0]) * product(found[i], found[i]));
      };
      EXPECT_GT(cosine(1), 0.96) << name << " " << format;
      EXPECT_GT(cosine(1), cosine(2)) << name << " " << format << ": nearer to it than what the plain weights give";
    }
}

TEST(TrainedAdapterDropout, IsAFunctionOfTheDraw) {
  const Golden g("zamba2-2block");
  Learner l(g, {.rank = 2, .dropout = 0.3});
  l.randomize(0.1);
  auto gradients = [&](uint64_t draw, bool recompute) {
    l.adapter.draw(draw);
    l.backward(recompute);
    l.adapter.draw(0);
    std::vector<float> all;
    l.adapter.visit("", [&](const std::string&, grad::Parameter& p) {
      all.insert(all.end(), p.grad.span<float>().begin(), p.grad.span<float>().end());
    });
    return all;
  };
  const std::vector<float> a = gradients(5, false);
  EXPECT_EQ(a, gradients(5, true)) << "a recomputed layer drops what it dropped";
  EXPECT_NE(a, gradients(6, false));
  EXPECT_NE(a, gradients(0, false));
  // E[dropped loss] is not the plain loss, but evaluation never drops.
  EXPECT_EQ(l.value(), l.value());
}

class SavedAdapter : public testing::Test {
 protected:
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_ = fs::temp_directory_path() / fmt::format("quern_trained_adapter_{}", ::getpid());
};

TEST_F(SavedAdapter, ComputesTheSameWhenReadBack) {
  for (const char* name : {"llama-gqa", "zaya-2-4x2", "zamba2-2block", "zamba2-2block-adapters", "zamba-6"}) {
    const Golden g(name);
    Learner l(g, {.rank = 3, .alpha = 5, .scaling = "rslora"});
    const double before = l.value();
    l.randomize(0.1);
    const std::span<const int32_t> ids = std::span(g.tokens).first(kTokens);
    const Tensor trained = infer::all_logits(*l.model, ids);
    EXPECT_GT(std::abs(l.value() - before), 1e-3) << name;
    l.adapter.save(folder_, "base");
    auto read = models::load_model(nn::builtin_registry(), g.folder, {.dtype = DType::f32, .adapter = folder_});
    // What learns is multiplied by other kernels, which add in another order.
    EXPECT_LE(relative_error(infer::all_logits(*read, ids), trained), 1e-4) << name;
  }
}

TEST_F(SavedAdapter, StartsFromTheBase) {
  const Golden g("llama-gqa");
  Learner l(g, {.rank = 4, .targets = {"q_proj", "mlp.down_proj"}});
  EXPECT_EQ(l.adapter.paths(), 4u) << "two matrices in two layers";
  auto base = models::load_model(nn::builtin_registry(), g.folder, {.dtype = DType::f32});
  const std::span<const int32_t> ids = std::span(g.tokens).first(kTokens);
  EXPECT_EQ(relative_error(infer::all_logits(*l.model, ids), infer::all_logits(*base, ids)), 0);
}

TEST_F(SavedAdapter, RefusesTargetsThatAreNotThere) {
  const Golden g("llama-gqa");
  auto message = [&](models::LoraSettings s) { return message_of([&] { Learner(g, std::move(s)); }); };
  EXPECT_NE(
      message({.rank = 2, .targets = {"q_proj", "query"}}).find("is called 'query': it has down_proj, gate_proj"),
      std::string::npos)
      << message({.rank = 2, .targets = {"q_proj", "query"}});
  auto checked = [&](models::LoraSettings s) { return message_of([&] { models::check(s, "adapter"); }); };
  EXPECT_NE(checked({.rank = 2, .scaling = "dora"}).find("expected lora or rslora"), std::string::npos);
  EXPECT_NE(checked({.rank = 2, .base = "q3"}).find("expected f32, bf16, q8 or q4"), std::string::npos);
  EXPECT_NE(checked({.alpha = 2}).find("rank: is missing"), std::string::npos);
  EXPECT_EQ(checked({}), "");
}

}  // namespace
}  // namespace quern
