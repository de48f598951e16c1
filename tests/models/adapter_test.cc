// Adapters worked into a model's weights: the same logits as a folder whose matrices were changed by hand; whatever
// is more than LoRA, or finds no place, is refused by name.
#include "quern/models/adapter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "quern/base/error.h"
#include "quern/base/json.h"

namespace quern {
namespace {

struct Folder {
  std::filesystem::path path;
  explicit Folder(const char* name) : path(std::filesystem::path(testing::TempDir()) / name) {
    std::filesystem::create_directories(path);
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

Tensor numbers(const Shape& shape, double seed) {
  Tensor t = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < t.size(); ++i)
    t.data<float>()[i] = static_cast<float>(std::sin(seed + 1.7 * static_cast<double>(i)));
  return t;
}

constexpr const char* kConfig = R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "none")";
constexpr const char* kName = "model.layers.0.self_attn.q_proj.weight";
constexpr const char* kA = "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight";
constexpr const char* kB = "base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight";

void write_adapter(const std::filesystem::path& folder, const std::string& config, const NamedTensors& tensors) {
  std::ofstream(folder / "adapter_config.json") << config;
  save_safetensors(folder / "adapter_model.safetensors", tensors);
}

TEST(Adapter, AddsItsScaledProduct) {
  Folder base("quern_adapter_base"), adapter("quern_adapter");
  const Tensor w = numbers({5, 4}, 1), other = numbers({3}, 2), a = numbers({2, 4}, 3), b = numbers({5, 2}, 4);
  save_safetensors(base.path / "model.safetensors", {{kName, w}, {"other", other}});
  for (const auto& [more, scale] :
       {std::pair<const char*, double>{"}", 3.0}, {R"(, "use_rslora": true})", 6 / std::sqrt(2.0)}}) {
    write_adapter(adapter.path, std::string(kConfig) + more, {{kA, a}, {kB, b}});
    const TensorFolder merged = models::with_adapter(TensorFolder(base.path), adapter.path);
    const Tensor y = merged.tensor(kName);
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 4; ++j) {
        double sum = 0;
        for (int64_t r = 0; r < 2; ++r)
          sum += double{b.data<float>()[i * 2 + r]} * double{a.data<float>()[r * 4 + j]};
        EXPECT_NEAR(y.data<float>()[i * 4 + j], double{w.data<float>()[i * 4 + j]} + scale * sum, 1e-5);
      }
    EXPECT_EQ(merged.tensor("other").data<float>()[1], other.data<float>()[1]);
  }
  // As Conv1D layers store it.
  save_safetensors(base.path / "model.safetensors", {{kName, numbers({4, 5}, 1)}});
  write_adapter(adapter.path, std::string(kConfig) + R"(, "fan_in_fan_out": true})", {{kA, a}, {kB, b}});
  const TensorFolder transposed = models::with_adapter(TensorFolder(base.path), adapter.path);
  double sum = 0;
  for (int64_t r = 0; r < 2; ++r) sum += double{b.data<float>()[3 * 2 + r]} * double{a.data<float>()[r * 4 + 1]};
  EXPECT_NEAR(transposed.tensor(kName).data<float>()[1 * 5 + 3],
              double{numbers({4, 5}, 1).data<float>()[8]} + 3 * sum, 1e-5);
}

TEST(Adapter, RefusesWhatItIsNot) {
  Folder base("quern_adapter_base2"), adapter("quern_adapter2");
  const Tensor a = numbers({2, 4}, 3), b = numbers({5, 2}, 4);
  save_safetensors(base.path / "model.safetensors", {{kName, numbers({5, 4}, 1)}});
  auto refused = [&](const std::string& config, const NamedTensors& tensors, const char* word) {
    write_adapter(adapter.path, config, tensors);
    try {
      models::with_adapter(TensorFolder(base.path), adapter.path);
      ADD_FAILURE() << word;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    }
  };
  const std::string good = std::string(kConfig) + "}";
  refused(R"({"peft_type": "IA3"})", {{kA, a}, {kB, b}}, "peft_type");
  refused(std::string(kConfig) + R"(, "use_dora": true})", {{kA, a}, {kB, b}}, "use_dora");
  refused(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "all"})", {{kA, a}, {kB, b}}, "bias");
  refused(good, {{kA, a}}, "lora_A and lora_B");
  refused(good, {{kA, numbers({2, 3}, 1)}, {kB, b}}, "do not fit");
  refused(good, {{"base_model.model.x.lora_A.weight", a}, {"base_model.model.x.lora_B.weight", b}}, "no such tensor");
  refused(good, {{"base_model.model.x.weight", a}}, "does not belong to a supported LoRA matrix");
  refused(good, {}, "no LoRA matrices");
}

}  // namespace
}  // namespace quern
