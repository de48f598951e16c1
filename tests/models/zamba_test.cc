// Zamba and Zamba2: logits and gradients against Hugging Face transformers (tools/oracles/models/make_zamba.py), both
// checkpoint layouts, long sequences against the double recurrence, and the sizes of the four published models.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "quern/base/mmap.h"
#include "quern/base/rng.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/models/zamba2/zamba2_model.h"
#include "quern/nn/check_module.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class Zamba : public testing::TestWithParam<const char*> {};

TEST_P(Zamba, LogitsEqualTransformers) {
  Golden g(GetParam());
  for (bool pack : {false, true}) {
    auto model = load_golden(g, DType::f32, pack);
    for (int64_t n : {1, 2, 3, 4, 5, 64, 250})
      EXPECT_LE(logit_error(*model, g, n), 1e-4) << n << " tokens, packed " << pack;
  }
}

TEST_P(Zamba, GradientsEqualAutograd) {
  Golden g(GetParam());
  if (!g.has_gradients()) return;
  auto model = load_golden(g, DType::f32, false);
  GradientError e = gradient_error(*model, g, 64);
  EXPECT_LE(e.worst, 1e-3) << e.name;
  EXPECT_LE(e.loss, 1e-5);
  auto exact = load_golden(g, DType::f64, false);
  e = gradient_error(*exact, g, 64);
  EXPECT_LE(e.worst, 1e-4) << e.name;  // transformers rounds its norms to f32 even here
}

TEST_P(Zamba, Bf16StaysClose) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::bf16, true);
  Tensor got = infer::all_logits(*model, g.tokens);
  double mean = 0;  // one near-cancelling norm of 16 channels magnifies a row's rounding tenfold: not the worst row
  for (size_t r = 0; r < g.rows.size(); ++r)
    mean += relative_error(got.narrow(0, g.rows[r], 1), g.logits.narrow(0, static_cast<int64_t>(r), 1));
  EXPECT_LE(mean / static_cast<double>(g.rows.size()), 0.12);
}

TEST_P(Zamba, SavedAndLoadedAgainIsTheSame) {
  Golden g(GetParam());
  auto model = load_golden(g, DType::f32, false);
  fs::path out = fs::temp_directory_path() / fmt::format("quern_zamba_{}_{}", ::getpid(), GetParam());
  models::save_model(*model, out, DType::f32, 20'000);
  auto again = models::load_model(nn::builtin_registry(), out, {.pack = false});
  std::span<const int32_t> ids = std::span(g.tokens).first(16);
  Tensor a = infer::all_logits(*model, ids), b = infer::all_logits(*again, ids);
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.item(i), b.item(i));
  EXPECT_TRUE(again->config().at("some_future_key").at("kept").as_bool());
  fs::remove_all(out);
}

// f64 runs the recurrence token by token, f32 the chunks.
TEST_P(Zamba, LongSequencesFollowTheDoubleRecurrence) {
  Golden g(GetParam());
  auto exact = load_golden(g, DType::f64, false), model = load_golden(g, DType::f32, true);
  std::vector<int32_t> ids;
  Rng rng(5);
  for (int64_t n : {257, 700, 3000}) {
    while (static_cast<int64_t>(ids.size()) < n) ids.push_back(static_cast<int32_t>(rng.below(90)));
    Tensor want = infer::all_logits(*exact, ids);
    EXPECT_LE(relative_error(infer::all_logits(*model, ids), want), 1e-4) << n << " tokens";
    infer::Session session(*model);
    std::span<const float> last = session.feed(ids, 512);
    for (size_t v = 0; v < last.size(); ++v)
      ASSERT_NEAR(static_cast<double>(last[v]), want.item((n - 1) * want.dim(1) + static_cast<int64_t>(v)), 2e-3);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Zamba,
                         testing::Values("zamba-6", "zamba2-1block", "zamba2-2block", "zamba2-2block-rope",
                                         "zamba2-2block-adapters", "zamba2-bounded"),
                         [](const auto& i) {
                           std::string s = i.param;
                           for (char& c : s)
                             if (c == '-') c = '_';
                           return s;
                         });

// The whole models in double: every parameter, shared ones summed over their invocations, over three documents.
TEST(ZambaGradients, FiniteDifferences) {
  for (const char* text :
       {R"({"model_type":"zamba","vocab_size":11,"hidden_size":8,"num_hidden_layers":4,"num_attention_heads":2,
            "num_key_value_heads":2,"intermediate_size":6,"mamba_d_state":2,"mamba_dt_rank":2,
            "layers_block_type":["hybrid","mamba","hybrid","hybrid"]})",
        R"({"model_type":"zamba2","vocab_size":11,"hidden_size":8,"num_hidden_layers":4,"num_attention_heads":2,
            "intermediate_size":6,"mamba_d_state":2,"n_mamba_heads":4,"mamba_ngroups":2,"num_mem_blocks":2,
            "adapter_rank":2,"use_shared_attention_adapter":true,"use_mem_rope":true,
            "layers_block_type":["hybrid","mamba","hybrid","hybrid"]})"}) {
    auto model = models::build_model(nn::builtin_registry(), Json::parse(text));
    grad::NamedParameters p = nn::randomized(*model, 11);
    const std::vector<int32_t> ids = {3, 7, 1, 10, 0, 5, 5, 2}, targets = {7, 1, 10, 0, 5, 2, 9, -1};
    const mixers::Batch documents = mixers::Batch::documents({5, 1, 2});
    grad::GradCheck c = grad::grad_check(
        [&](grad::Tape& t, const std::vector<grad::Var>&) {
          return std::vector<grad::Var>{model->loss(t, model->hidden(t, ids, documents), targets)};
        },
        {}, p, 40, 1e-6);  // a small step: four layers bend the loss sharply
    EXPECT_LT(c.worst, 1e-7) << c.where;
  }
}

TEST(ZambaLayouts, LegacyEqualsCurrentBitForBit) {
  Golden g("zamba2-2block"), old("zamba2-2block-legacy");
  auto a = load_golden(g, DType::f32, false), b = load_golden(old, DType::f32, false);
  std::span<const int32_t> ids = std::span(g.tokens).first(64);
  Tensor x = infer::all_logits(*a, ids), y = infer::all_logits(*b, ids);
  for (int64_t i = 0; i < x.size(); ++i) ASSERT_EQ(x.item(i), y.item(i));
  EXPECT_TRUE(b->config().at("some_future_key").at("kept").as_bool());
  EXPECT_EQ(b->config().find("lora_rank"), nullptr);
  EXPECT_EQ(b->config().at("adapter_rank").as_int(), 3);
}

// Every hybrid layer may carry its own copy of the shared block, as merged models do; unequal ones are refused.
TEST(ZambaLayouts, CopiesOfASharedBlockMustBeEqual) {
  Golden g("zamba2-2block");
  fs::path folder = fs::temp_directory_path() / fmt::format("quern_zamba_copies_{}", ::getpid());
  fs::remove_all(folder);
  fs::copy(g.folder, folder);
  NamedTensors tensors;
  {
    SafetensorsFile f(g.folder / "model.safetensors");
    for (auto& [n, entry] : f.entries()) tensors.emplace_back(n, f.tensor(n).clone());
  }
  const std::string name = "model.layers.1.shared_transformer.self_attn.o_proj.weight",
                    copy = "model.layers.4.shared_transformer.self_attn.o_proj.weight";  // layers 1 and 4: block 0
  Tensor own;
  for (auto& [n, t] : tensors)
    if (n == name) own = t;
  ASSERT_TRUE(own.defined());
  auto save_with = [&](const Tensor& second) {
    NamedTensors all = tensors;
    all.emplace_back(copy, second);
    save_safetensors(folder / "model.safetensors", all);
    return message_of([&] {
      models::LoadReport report;
      models::load_model(nn::builtin_registry(), folder, {}, &report);
      if (!report.unused.empty()) fail("unread: {}", report.unused[0]);
    });
  };
  EXPECT_EQ(save_with(own), "");
  Tensor other = own.clone();
  other.data<float>()[3] += 1;
  EXPECT_NE(save_with(other).find("must be equal"), std::string::npos);
  fs::remove_all(folder);
}

std::vector<Json> layers(int64_t n, std::vector<int64_t> hybrid) {
  std::vector<Json> names(static_cast<size_t>(n), Json("mamba"));
  for (int64_t l : hybrid) names[static_cast<size_t>(l)] = Json("hybrid");
  return names;
}

struct Published {
  const char* config;
  std::vector<int64_t> hybrid;
  int64_t parameters, tensors, kv_bytes, state_bytes;
};

// Counts follow from the published tensor tables; state_bytes is Σ over layers of S in f32, without convolution
// tails.
TEST(ZambaPublished, ParametersTensorsAndState) {
  const Published all[] = {
      {R"({"model_type":"zamba","rope_theta":10000})", {}, 7232490496, 784, 386048, 76 * 2 * 3712 * 16 * 4},
      {R"({"model_type":"zamba2","hidden_size":2048,"num_hidden_layers":38,"mamba_d_state":128,"n_mamba_heads":64,
           "use_shared_attention_adapter":true,"use_mem_rope":true})",
       {5, 11, 17, 23, 29, 35},
       1215064704,
       406,
       98304,
       int64_t{38} * 64 * 64 * 128 * 4},
      {R"({"model_type":"zamba2","n_mamba_heads":80,"num_mem_blocks":2,"kv_channels":80,"attention_head_dim":160})",
       {6, 12, 18, 24, 30, 36, 42, 47, 51},
       2662214560,
       531,
       184320,
       int64_t{54} * 80 * 64 * 64 * 4},
      {R"({"model_type":"zamba2","hidden_size":3584,"num_hidden_layers":81,"n_mamba_heads":112,"mamba_ngroups":2,
           "num_mem_blocks":2,"use_mem_rope":true})",
       {6, 11, 17, 23, 29, 35, 41, 47, 53, 59, 65, 71, 77},
       7356749648,
       786,
       372736,
       int64_t{81} * 112 * 64 * 64 * 4},
  };
  for (const Published& p : all) {
    Json config = Json::parse(p.config);
    if (!p.hybrid.empty()) {
      Json names = Json::array();
      const Json* n = config.find("num_hidden_layers");
      for (Json& l : layers(n ? n->as_int() : 54, p.hybrid)) names.push(std::move(l));
      config.set("layers_block_type", names);
    }
    auto model = models::build_model(nn::builtin_registry(), config);
    int64_t tensors = 0, per_token = 0, ssm = 0;
    model->visit("", [&](const std::string&, grad::Parameter&) { ++tensors; });
    for (const mixers::StateSite& s : model->sites(DType::bf16)) {
      per_token += s.spec.bytes_per_token();
      for (const mixers::StatePart& part : s.spec.parts)
        if (part.name == "ssm") ssm += element_count(part.shape) * dtype_size(part.dtype);
    }
    EXPECT_EQ(nn::parameter_count(*model), p.parameters) << p.config;
    EXPECT_EQ(tensors, p.tensors) << p.config;
    EXPECT_EQ(per_token, p.kv_bytes) << p.config;
    EXPECT_EQ(ssm, p.state_bytes) << p.config;
  }
}

TEST(ZambaConfigs, Zamba7bsLayersFollowFromPeriodAndOffset) {
  auto model = models::build_model(nn::builtin_registry(), Json::parse(R"({"model_type":"zamba"})"));
  std::vector<int> hybrid;
  for (const mixers::StateSite& s : model->sites(DType::bf16))
    if (s.spec.parts[0].per_token) hybrid.push_back(s.layer);
  EXPECT_EQ(hybrid, (std::vector<int>{2, 7, 13, 19, 25, 31, 37, 43, 49, 55, 61, 67, 73}));
}

TEST(ZambaConfigs, LongContextStretchesTheRotaryBase) {
  Json j = Json::parse(R"({"model_type":"zamba2","n_mamba_heads":80,"use_mem_rope":true,"use_long_context":true})");
  models::Zamba2Config c = models::Zamba2Config::from_hf(j);
  EXPECT_EQ(c.context(), 16384);
  EXPECT_NEAR(c.rope().config.inv_freq[79], std::pow(1e4 * std::pow(8.0, 160.0 / 158.0), -158.0 / 160.0), 1e-12);
}

TEST(ZambaConfigs, MistakesAreNamed) {
  auto message = [](const char* text) {
    return message_of([&] { models::build_model(nn::builtin_registry(), Json::parse(text)); });
  };
  EXPECT_NE(message(R"({"model_type":"zamba2","n_mamba_heads":7})").find("n_mamba_heads: 7"), std::string::npos);
  EXPECT_NE(message(R"({"model_type":"zamba2","num_hidden_layers":3})").find("layers_block_type: 54 entries for 3"),
            std::string::npos);
  EXPECT_NE(message(R"({"model_type":"zamba2","n_mamba_heads":80,"attention_head_dim":80})").find("expected 160"),
            std::string::npos);
  EXPECT_NE(message(R"({"model_type":"zamba2","n_mamba_heads":80,"use_mem_rope":true,
                        "rope_parameters":{"rope_type":"longrope"}})")
                .find("rope_type: 'longrope'"),
            std::string::npos);
  EXPECT_NE(message(R"({"model_type":"zamba2","n_mamba_heads":80,"use_mem_rope":true,"use_long_context":true,
                        "rope_parameters":{"rope_type":"linear","factor":2}})")
                .find("expected no other scaling"),
            std::string::npos);
  EXPECT_NE(message(R"({"model_type":"zamba2","n_mamba_heads":80,"time_step_limit":[0.5,0.1]})")
                .find("time_step_limit: [0.5, 0.1]"),
            std::string::npos);
  EXPECT_NE(message(R"({"model_type":"zamba","mamba_dt_rank":"wide"})").find("mamba_dt_rank: 'wide'"),
            std::string::npos);
  EXPECT_NE(message(R"({"model_type":"zamba","num_hidden_layers":1152921504606846976})").find("num_hidden_layers"),
            std::string::npos);
}

}  // namespace
}  // namespace quern
