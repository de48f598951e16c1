// Logits and gradients of tiny random models against Hugging Face transformers (tools/oracles/models/make.py and
// make_mamba_hybrids.py), in every published layout; bf16 close to f32; saving and loading again changes nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class Parity : public testing::TestWithParam<const char*> {};

TEST_P(Parity, LogitsEqualTransformers) {
  Golden g(GetParam());
  for (bool pack : {false, true}) {
    auto model = load_golden(g, DType::f32, pack);
    for (int64_t n : {1, 2, 3, 64, 700})
      EXPECT_LE(logit_error(*model, g, std::min(n, static_cast<int64_t>(g.tokens.size()))), 1e-4)
          << n << " tokens, packed " << pack;
  }
}

TEST_P(Parity, GradientsEqualAutograd) {
  Golden g(GetParam());
  if (!g.has_gradients()) return;
  auto model = load_golden(g, DType::f32, false);
  GradientError e = gradient_error(*model, g, 64);
  EXPECT_LE(e.worst, 1e-3) << e.name;
  EXPECT_LE(e.loss, 1e-5);
  GradientError again = gradient_error(*load_golden(g, DType::f32, false), g, 64, false, true);
  EXPECT_EQ(again.worst, e.worst) << "layers recomputed";
  auto exact = load_golden(g, DType::f64, false);
  e = gradient_error(*exact, g, 64);
  EXPECT_LE(e.worst, 1e-4) << e.name;  // transformers rounds its norms to f32 even here
}

TEST_P(Parity, GradientsOfABf16TapeStayClose) {
  Golden g(GetParam());
  if (!g.has_gradients()) return;
  auto model = load_golden(g, DType::f32, false);
  GradientError e = gradient_error(*model, g, 64, true);
  EXPECT_LE(e.worst, 0.1) << e.name;
  EXPECT_GE(e.worst, 1e-4) << "nothing was rounded";
  EXPECT_LE(e.loss, 5e-3);
}

TEST_P(Parity, Bf16StaysClose) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::bf16, true);
  // A router flip would show as an error near 1; these seeds have none in their first 64 tokens.
  EXPECT_LE(logit_error(*model, g, 64), 0.15);
}

TEST_P(Parity, SavedAndLoadedAgainIsTheSame) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::f32, false);
  fs::path out = fs::temp_directory_path() / fmt::format("quern_parity_{}_{}", ::getpid(), GetParam());
  models::save_model(*model, out, DType::f32, 20'000);
  auto again = models::load_model(nn::builtin_registry(), out, {.pack = false});
  std::span<const int32_t> ids = std::span(g.tokens).first(16);
  Tensor a = infer::all_logits(*model, ids), b = infer::all_logits(*again, ids);
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.item(i), b.item(i));
  fs::remove_all(out);
}

INSTANTIATE_TEST_SUITE_P(All, Parity,
                         testing::Values("zaya-2-4x2", "zaya-5-4x2", "zaya-2-8x2", "zaya-2-4x1", "zaya-5-sliding",
                                         "zaya-2-bias", "llama-gqa", "llama-mha", "llama-yarn", "mistral-window",
                                         "qwen2-bias", "granite-h", "granite-h-moe", "bamba", "falcon-h1",
                                         "nemotron-h"),
                         [](const auto& i) {
                           std::string s = i.param;
                           for (char& c : s)
                             if (c == '-') c = '_';
                           return s;
                         });

TEST(ZayaLayouts, LegacyEqualsCurrentBitForBit) {
  for (const char* name : {"zaya-2-4x2", "zaya-5-4x2"}) {
    Golden g(name), old(std::string(name) + "-legacy");
    auto a = load_golden(g, DType::f32, false), b = load_golden(old, DType::f32, false);
    std::span<const int32_t> ids = std::span(g.tokens).first(64);
    Tensor x = infer::all_logits(*a, ids), y = infer::all_logits(*b, ids);
    for (int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(x.item(i), y.item(i));
    EXPECT_EQ(b->config().at("some_future_key").at("kept").as_bool(), true);
  }
}

TEST(ZayaLayouts, LegacyBiasesAreRefused) {
  Golden g("zaya-2-4x2-legacy");
  Json c = Json::read(g.folder / "config.json");
  EXPECT_EQ(message_of([&] { models::build_model(nn::builtin_registry(), c); }), "");
  c.set("attention_bias", true);
  EXPECT_NE(message_of([&] {
              models::build_model(nn::builtin_registry(), c);
            }).find("attention_bias: true is not supported in the legacy form"),
            std::string::npos);
}

TEST(ZayaLayouts, Fp8ExpertsAreRead) {
  Golden g("zaya-5-4x2-fp8");
  auto model = load_golden(g, DType::f32, true);
  EXPECT_LE(logit_error(*model, g, 64), 1e-4);
}

// A copy of a golden folder with one thing changed.
class Damaged {
 public:
  explicit Damaged(const char* name)
      : folder_(fs::temp_directory_path() / fmt::format("quern_damaged_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::copy(Golden(name).folder, folder_);
    config_ = Json::read(folder_ / "config.json");
  }
  ~Damaged() { fs::remove_all(folder_); }
  std::string with(const char* key, Json value) {
    Json c = config_;
    c.set(key, std::move(value));
    write_file(folder_ / "config.json", c.dump());
    return message();
  }
  std::string message() {
    return message_of([&] { models::load_model(nn::builtin_registry(), folder_); });
  }
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
  Json config_;
};

TEST(BadFolders, MessagesNameFieldAndTensor) {
  Damaged d("zaya-2-4x2");
  EXPECT_EQ(d.message(), "");
  EXPECT_NE(d.with("hidden_size", 48).find("shape"), std::string::npos);
  EXPECT_NE(d.with("hidden_size", "wide").find("hidden_size: expected an integer"), std::string::npos);
  EXPECT_NE(d.with("num_hidden_layers", -3).find("num_hidden_layers"), std::string::npos);
  EXPECT_NE(d.with("num_hidden_layers", int64_t{1} << 60).find("num_hidden_layers"), std::string::npos);
  EXPECT_NE(d.with("num_key_value_heads", 3).find("num_attention_heads"), std::string::npos);
  EXPECT_NE(d.with("num_experts_per_tok", 2).find("num_experts_per_tok"), std::string::npos);
  EXPECT_NE(d.with("layer_types", Json(Json::Array{Json("hybrid")})).find("layer_types"), std::string::npos);
  EXPECT_NE(d.with("attention_bias", true).find("self_attn.qkv_proj.q_proj.bias' is missing"), std::string::npos);
  EXPECT_NE(d.with("model_type", "zaja").find("did you mean 'zaya'"), std::string::npos);
  d.with("model_type", "zaya");
  std::string whole = read_file(d.folder() / "model.safetensors");
  write_file(d.folder() / "model.safetensors", whole.substr(0, whole.size() - 100));
  EXPECT_NE(d.message().find("tensor 'model."), std::string::npos);
  fs::remove(d.folder() / "model.safetensors");
  EXPECT_NE(d.message().find("model.safetensors"), std::string::npos);
}

}  // namespace
}  // namespace quern
