// LoRA adapters beside the weights of a model: the logits of transformers and PEFT (tools/oracles/models/
// make_adapters.py) for every family, the names of older layouts, quantized weights, scales; whatever is more than LoRA,
// or finds no place, is refused by name.
#include "quern/models/adapter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/models/zaya/zaya_names.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

struct AdapterGolden {
  explicit AdapterGolden(const std::string& name)
      : folder(fs::path(QUERN_SOURCE_DIR) / "tests" / "goldens" / "adapters" / name),
        base([&] {
          std::string text = read_file(folder / "base.txt");
          return text.substr(0, text.find('\n'));
        }()),
        logits(load_npy((folder / "logits.npy").string())) {}
  fs::path folder;
  Golden base;
  Tensor logits;
};

// The rows of the goldens, of a folder with an adapter.
Tensor logits_of(const fs::path& model, const Golden& g, models::LoadOptions o) {
  auto m = models::load_model(nn::builtin_registry(), model, std::move(o));
  Tensor all = infer::all_logits(*m, std::span(g.tokens).first(64));
  int64_t n = 0;
  for (int32_t r : g.rows) n += r < 64;
  Tensor rows = Tensor::empty({n, all.dim(1)}, DType::f32);
  for (int64_t i = 0; i < n; ++i) rows.narrow(0, i, 1).copy_from(all.narrow(0, g.rows[static_cast<size_t>(i)], 1));
  return rows;
}

// A copy of an adapter with other tensors.
class Copy {
 public:
  Copy(const fs::path& from, const std::function<std::string(const std::string&)>& renamed)
      : path_(fs::temp_directory_path() / fmt::format("quern_adapter_{}", ::getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
    fs::copy_file(from / "adapter_config.json", path_ / "adapter_config.json");
    NamedTensors tensors;
    const SafetensorsFile file(from / "adapter_model.safetensors");
    for (const auto& [name, entry] : file.entries())
      if (const std::string other = renamed(name); !other.empty()) tensors.emplace_back(other, file.tensor(name));
    save_safetensors(path_ / "adapter_model.safetensors", tensors);
  }
  ~Copy() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string replaced(std::string s, const std::string& from, const std::string& to) {
  if (size_t at = s.find(from); at != s.npos) s.replace(at, from.size(), to);
  return s;
}

class Adapters : public testing::TestWithParam<const char*> {};

TEST_P(Adapters, LogitsEqualPeft) {
  AdapterGolden g(GetParam());
  const Tensor y = logits_of(g.base.folder, g.base, {.dtype = DType::f32, .adapter = g.folder});
  EXPECT_LE(relative_error(y, g.logits), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(All, Adapters,
                         testing::Values("llama", "llama-saved", "qwen2", "zaya", "zamba", "zamba2-1block",
                                         "zamba2-2block", "zamba2-one-layer", "granite-h", "falcon-h1", "nemotron-h"),
                         [](const auto& i) {
                           std::string s = i.param;
                           std::replace(s.begin(), s.end(), '-', '_');
                           return s;
                         });

// Twice the scale is twice every B.
TEST(AdapterScale, MultipliesTheLowRankPath) {
  AdapterGolden g("zamba2-2block");
  auto at = [&](double scale) {
    return logits_of(g.base.folder, g.base, {.dtype = DType::f32, .adapter = g.folder, .adapter_scale = scale});
  };
  EXPECT_LE(relative_error(at(0), logits_of(g.base.folder, g.base, {.dtype = DType::f32})), 1e-6);
  EXPECT_GT(relative_error(at(0.5), at(1)), 1e-2);
}

Tensor minus(const Tensor& a, const Tensor& b) {
  Tensor d = Tensor::empty(a.shape(), DType::f32);
  const std::span<const float> x = a.span<float>(), y = b.span<float>();
  std::transform(x.begin(), x.end(), y.begin(), d.span<float>().begin(), std::minus<>());
  return d;
}

// What the adapter changes is the same beside quantized weights, up to their rounding. Without its path, or with it twice,
// the error would be 1.
TEST(AdapterFormats, ChangeAsMuchBesideQuantizedWeights) {
  for (const char* name : {"llama", "zamba2-2block", "zaya"}) {
    AdapterGolden g(name);
    const models::LoadOptions q8{.scheme = kernels::QuantFormat(kernels::WeightFormat::q8)};
    models::LoadOptions adapted = q8;
    adapted.adapter = g.folder;
    const Tensor change = minus(g.logits, logits_of(g.base.folder, g.base, {.dtype = DType::f32})),
                 beside_q8 = minus(logits_of(g.base.folder, g.base, adapted), logits_of(g.base.folder, g.base, q8));
    EXPECT_LE(relative_error(beside_q8, change), 0.5) << name;
  }
}

TEST(AdapterLayouts, NamesOfOlderLayouts) {
  // Where the modules of a shared block are really shared there is one pair for all invocations: transformers of 2024
  // names it by the first layer, the vendor's layout by the block.
  AdapterGolden zamba2("zamba2-2block");  // hybrid layers 1, 2, 4, 5; blocks 0 and 1
  auto first_only = [](const std::string& name) {
    const bool later = name.find("layers.4.shared") != name.npos || name.find("layers.5.shared") != name.npos;
    return later || name.find("_adapter_list.") != name.npos ? std::string() : name;
  };
  const Golden legacy("zamba2-2block-legacy");
  Tensor current, old;
  {
    Copy shared(zamba2.folder, first_only);
    current = logits_of(zamba2.base.folder, zamba2.base, {.dtype = DType::f32, .adapter = shared.path()});
  }
  {
    Copy blocks(zamba2.folder, [&](const std::string& name) {
      std::string s = first_only(name);
      for (int k : {0, 1})
        s = replaced(s, fmt::format("model.layers.{}.shared_transformer.", k + 1),
                     fmt::format("model.blocks.{}.", k));
      int64_t hybrid = 0;
      for (int64_t l = 0; l < 8; ++l) {
        const bool is_hybrid = l == 1 || l == 2 || l == 4 || l == 5;
        s = replaced(s, fmt::format("model.layers.{}.mamba", l), fmt::format("model.mamba_layers.{}.mamba", l));
        if (is_hybrid)
          s = replaced(s, fmt::format("model.layers.{}.linear.", l),
                       fmt::format("model.linear_layers.{}.", hybrid++));
      }
      s = replaced(replaced(s, "feed_forward.gate_up_proj", "feed_forward.linear_fc1"), "feed_forward.down_proj",
                   "feed_forward.linear_fc2");
      return replaced(s, "mamba_decoder.", "");
    });
    old = logits_of(legacy.folder, zamba2.base, {.dtype = DType::f32, .adapter = blocks.path()});
  }
  EXPECT_LE(relative_error(old, current), 1e-6);
  EXPECT_GT(relative_error(current, zamba2.logits), 1e-2) << "later invocations had pairs of their own";

  AdapterGolden zaya("zaya");
  Copy half_layers(zaya.folder, [](const std::string& name) {
    const std::string prefix = "base_model.model.";
    const size_t lora = name.find(".lora_");
    const std::string matrix = name.substr(prefix.size(), lora - prefix.size()) + ".weight";
    const std::string place = models::zaya_legacy_place(matrix, 2).name;
    return prefix + place.substr(0, place.rfind('.')) + name.substr(lora);
  });
  EXPECT_LE(relative_error(logits_of(Golden("zaya-2-4x2-legacy").folder, zaya.base,
                                     {.dtype = DType::f32, .adapter = half_layers.path()}),
                           zaya.logits),
            1e-5);
}

class WrittenAdapter : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void write(const std::string& config, const NamedTensors& tensors) {
    write_file(folder_ / "adapter_config.json", config);
    save_safetensors(folder_ / "adapter_model.safetensors", tensors);
  }
  std::string refused(const std::string& config, const NamedTensors& tensors) {
    write(config, tensors);
    return message_of([&] {
      models::load_model(nn::builtin_registry(), Golden("llama-gqa").folder,
                         {.dtype = DType::f32, .adapter = folder_});
    });
  }
  fs::path folder_ = fs::temp_directory_path() / fmt::format("quern_adapter_written_{}", ::getpid());
};

// A pair of the head equals a head that is replaced by the merged matrix.
TEST_F(WrittenAdapter, OfTheHeadIsMerged) {
  Golden g("llama-gqa");
  const Tensor w = SafetensorsFile(g.folder / "model.safetensors").tensor("lm_head.weight").to(DType::f32).clone();
  const int64_t n = w.dim(0), k = w.dim(1);
  Tensor a = Tensor::empty({1, k}, DType::f32), b = Tensor::empty({n, 1}, DType::f32);
  for (int64_t j = 0; j < k; ++j) a.data<float>()[j] = static_cast<float>(std::sin(static_cast<double>(j)));
  for (int64_t i = 0; i < n; ++i) b.data<float>()[i] = static_cast<float>(std::cos(static_cast<double>(3 * i)));
  write(R"({"peft_type": "LORA", "r": 1, "lora_alpha": 0.5})",
        {{"base_model.model.lm_head.lora_A.weight", a}, {"base_model.model.lm_head.lora_B.weight", b}});
  const Tensor pair = logits_of(g.folder, g, {.dtype = DType::f32, .adapter = folder_});
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < k; ++j) w.data<float>()[i * k + j] += 0.5F * a.data<float>()[j] * b.data<float>()[i];
  write(R"({"peft_type": "LORA", "r": 1, "lora_alpha": 0.5, "modules_to_save": ["lm_head"]})",
        {{"base_model.model.lm_head.weight", w}});
  EXPECT_LE(relative_error(logits_of(g.folder, g, {.dtype = DType::f32, .adapter = folder_}), pair), 1e-6);
  EXPECT_GT(relative_error(logits_of(g.folder, g, {.dtype = DType::f32}), pair), 1e-2);
}

TEST_F(WrittenAdapter, RefusedByName) {
  const std::string config = R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "none")", good = config + "}";
  const std::string matrix = "base_model.model.model.layers.0.self_attn.q_proj.";
  const Tensor a = Tensor::zeros({2, 32}, DType::f32), b = Tensor::zeros({32, 2}, DType::f32);
  const NamedTensors pair = {{matrix + "lora_A.weight", a}, {matrix + "lora_B.weight", b}};
  auto has = [](const std::string& message, const char* word) {
    EXPECT_NE(message.find(word), std::string::npos) << message << " has no " << word;
  };
  EXPECT_EQ(refused(good, pair), "");
  has(refused(R"({"peft_type": "IA3"})", pair), "peft_type");
  has(refused(config + R"(, "use_dora": true})", pair), "use_dora");
  has(refused(config + R"(, "target_parameters": ["experts.down_proj"]})", pair), "target_parameters");
  has(refused(config + R"(, "alpha_pattern": {"[": 1}})", pair), "alpha_pattern");
  has(refused(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, "bias": "all"})", pair), "bias");
  has(refused(good, {pair[0]}), "lora_A and lora_B");
  has(refused(good, {{matrix + "lora_A.weight", Tensor::zeros({2, 31}, DType::f32)}, pair[1]}), "do not fit");
  has(refused(good, {{"base_model.model.x.lora_A.weight", a}, {"base_model.model.x.lora_B.weight", b}}),
      "'x.weight': the model has no such matrix");
  has(refused(good, {{"base_model.model.x.weight", a}}), "does not belong to a supported LoRA matrix");
  has(refused(config + R"(, "modules_to_save": ["x"]})", {{"base_model.model.x.weight", a}}), "no such tensor");
  has(refused(good, {}), "no LoRA matrices");
}

}  // namespace
}  // namespace quern
