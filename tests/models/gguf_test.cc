// .gguf files as models: configuration, names, rotary rows and blocks of bits against the folders they were made from
// (tools/oracles/models/make_gguf.py, make_gguf_hybrids.py), and what is not understood refused by key and value.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/gguf/gguf_model.h"
#include "quern/infer/cache/session.h"
#include "quern/models/context_length.h"
#include "quern/models/quantize.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

const fs::path kFiles = fs::path(QUERN_SOURCE_DIR) / "tests/goldens/gguf-models";

std::unique_ptr<models::Model> load(const std::string& file, models::LoadOptions o = {}) {
  models::LoadReport report;
  auto m = models::load_model(nn::builtin_registry(), kFiles / file, o, &report);
  EXPECT_TRUE(report.unused.empty() && report.missing.empty() && report.notes.empty()) << file;
  return m;
}

void each_parameter(models::Model& a, const std::function<Tensor(const std::string&)>& expected,
                    const std::function<void(double, double, const std::string&)>& compare) {
  int64_t seen = 0;
  a.visit("", [&](const std::string& name, grad::Parameter& p) {
    const Tensor want = expected(name);
    ASSERT_EQ(p.value.shape(), want.shape()) << name;
    for (int64_t i = 0; i < want.size(); ++i) compare(p.value.item(i), want.item(i), name);
    seen += want.size();
  });
  EXPECT_GT(seen, 10000);
}

TEST(GgufModel, LogitsInF32AreTheFoldersOwn) {
  for (const char* name : {"llama-gqa", "llama-yarn", "granite-h", "bamba", "falcon-h1", "nemotron-h"}) {
    Golden g(name);
    auto model = load(std::string(name) + ".gguf");
    EXPECT_LT(logit_error(*model, g, static_cast<int64_t>(g.tokens.size())), 1e-4) << name;
    EXPECT_EQ(models::context_length(*model), 1024) << name;
  }
}

TEST(GgufModel, LogitsInF16StayNear) {
  for (const char* name : {"qwen2-bias", "mistral-window", "granite-h-moe"}) {
    Golden g(name);
    auto model = load(std::string(name) + ".gguf");
    EXPECT_LT(logit_error(*model, g, static_cast<int64_t>(g.tokens.size())), 5e-3) << name;
  }
}

TEST(GgufModel, ParametersAreTheFoldersOwnToTheirPrecision) {
  for (const char* name :
       {"llama-gqa", "qwen2-bias", "mistral-window", "granite-h", "granite-h-moe", "bamba", "nemotron-h"}) {
    Golden g(name);
    auto theirs = load(std::string(name) + ".gguf", {.pack = false});
    SafetensorsFile file(g.folder / "model.safetensors");
    each_parameter(
        *theirs,
        [&](const std::string& n) { return file.tensor(file.entries().count(n) ? n : theirs->other_names(n).at(0)); },
        [](double a, double b, const std::string& n) { ASSERT_NEAR(a, b, std::abs(b) / 1024 + 1e-7) << n; });
  }
}

TEST(GgufModel, BlocksAreWhatTheReferenceMakesOfThem) {
  SafetensorsFile expected(kFiles / "llama-gqa-q8.safetensors");
  auto model = load("llama-gqa-q8.gguf", {.pack = false});
  each_parameter(
      *model, [&](const std::string& n) { return expected.tensor(n); },
      [](double a, double b, const std::string& n) { ASSERT_EQ(a, b) << n; });
}

// Whatever a folder can be asked for.
TEST(GgufModel, ServesInEverySchemeAndBecomesAPackedFolder) {
  Golden g("llama-gqa");
  const auto ids = std::span(g.tokens).first(16);
  Tensor exact = infer::all_logits(*load("llama-gqa-q8.gguf"), ids);
  EXPECT_LT(relative_error(infer::all_logits(*load("llama-gqa-q8.gguf", {.dtype = DType::bf16}), ids), exact), 0.05);
  const fs::path out = fs::temp_directory_path() / fmt::format("quern_gguf_{}", ::getpid());
  fs::remove_all(out);
  models::quantize_folder(nn::builtin_registry(), kFiles / "llama-gqa-q8.gguf", out, {});
  Tensor a = infer::all_logits(*models::load_model(nn::builtin_registry(), out), ids);
  Tensor b =
      infer::all_logits(*load("llama-gqa-q8.gguf", {.scheme = kernels::QuantFormat(kernels::WeightFormat::q8)}), ids);
  fs::remove_all(out);
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.item(i), b.item(i));
  EXPECT_LT(relative_error(a, exact), 0.1);
}

TEST(GgufModel, HybridsBecomePackedFoldersToo) {
  Golden g("granite-h-moe");
  const auto ids = std::span(g.tokens).first(16);
  const fs::path out = fs::temp_directory_path() / fmt::format("quern_gguf_hybrid_{}", ::getpid());
  fs::remove_all(out);
  models::quantize_folder(nn::builtin_registry(), kFiles / "granite-h-moe.gguf", out, {});
  Tensor a = infer::all_logits(*models::load_model(nn::builtin_registry(), out), ids);
  fs::remove_all(out);
  Tensor b = infer::all_logits(
      *load("granite-h-moe.gguf", {.scheme = kernels::QuantFormat(kernels::WeightFormat::q8)}), ids);
  for (int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.item(i), b.item(i));
  EXPECT_LT(relative_error(a, infer::all_logits(*load("granite-h-moe.gguf"), ids)), 0.1);
}

TEST(GgufModel, EndTokenComesFromTheFile) {
  models::GenerationConfig g = models::load_generation_config(kFiles / "llama-gqa.gguf");
  EXPECT_EQ(g.eos_token_id, std::vector<int64_t>{1});
  EXPECT_EQ(g.bos_token_id, 2);
  EXPECT_NE(message_of([&] { models::load_tokenizer(kFiles / "llama-gqa.gguf"); }).find("tokenizer"),
            std::string::npos);
}

class GgufRefused : public testing::Test {
 protected:
  ~GgufRefused() override { fs::remove(path_); }
  // The message for a file with `from` replaced by `to`, of the same length: lengths are stored in the file.
  std::string refusal(const std::string& from, const std::string& to, const char* file = "llama-gqa.gguf") {
    EXPECT_EQ(from.size(), to.size());
    std::string content = read_file(kFiles / file);
    const size_t at = content.find(from);
    EXPECT_NE(at, content.npos) << from;
    if (at != content.npos) content.replace(at, from.size(), to);
    write_file(path_, content);
    return message_of([&] { models::load_model(nn::builtin_registry(), path_); });
  }
  // The same with a whole number's value replaced.
  std::string with_number(const std::string& key, uint32_t value) {
    std::string content = read_file(kFiles / "llama-gqa.gguf"), head = key + std::string("\x04\0\0\0", 4);
    const size_t at = content.find(head);
    EXPECT_NE(at, content.npos) << key;
    std::string bytes(4, '\0');
    std::memcpy(bytes.data(), &value, 4);
    return refusal(head + content.substr(at + head.size(), 4), head + bytes);
  }
  fs::path path_ = fs::temp_directory_path() / fmt::format("quern_refused_{}.gguf", ::getpid());
};

TEST_F(GgufRefused, WhatIsNotUnderstoodByKeyAndValue) {
  auto has = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " | " << message;
  };
  has(refusal("\x05\0\0\0\0\0\0\0llama"s, "\x05\0\0\0\0\0\0\0bloom"s), "'general.architecture': 'bloom'");
  has(refusal("llama.block_count", "llama.bl0ck_count"), "'llama.block_count' is missing");
  has(refusal("llama.vocab_size", "llama.logit_sca1"), "'llama.logit_sca1': 96 is not supported");
  has(refusal("llama.vocab_size", "llama.expert_cou"), "'llama.expert_cou': 96 is not supported");
  has(with_number("llama.rope.dimension_count", 4), "'llama.rope.dimension_count': 4, expected all 8");
  has(with_number("llama.attention.value_length", 16), "'llama.attention.value_length': 16, expected 8");
  has(with_number("llama.attention.head_count", 0), "'llama.attention.head_count': 0");
  has(with_number("llama.attention.head_count_kv", 3), "is not whole pairs of 3 heads");
  has(with_number("llama.embedding_length", 64), "shape");
  has(refusal("blk.0.attn_norm.weight", "blk.0.attn_nurm.weight"),
      "'model.layers.0.input_layernorm.weight' is missing");
  EXPECT_EQ(refusal("llama.vocab_size", "llama.vocab_size"), "");
}

TEST_F(GgufRefused, RotaryScalingByKeyAndValue) {
  auto has = [&](const std::string& from, const std::string& to, const char* part) {
    const std::string message = refusal(from, to, "llama-yarn.gguf");
    EXPECT_NE(message.find(part), std::string::npos) << part << " | " << message;
  };
  has("\x04\0\0\0\0\0\0\0yarn"s, "\x04\0\0\0\0\0\0\0warp"s, "'llama.rope.scaling.type': 'warp' is not supported");
  const std::string factor = "llama.rope.scaling.factor\x06\0\0\0"s;
  has(factor + "\0\0\x80\x41"s, factor + "\0\0\x80\xc1"s, "'llama.rope.scaling.factor': -16 is not positive");
}

TEST_F(GgufRefused, HybridsByKeyAndTensor) {
  auto has = [&](const std::string& from, const std::string& to, const char* part) {
    const std::string message = refusal(from, to, "granite-h.gguf");
    EXPECT_NE(message.find(part), std::string::npos) << part << " | " << message;
  };
  has("granitehybrid.ssm.inner_size", "granitehybrid.ssm.inner_sizf", "'granitehybrid.ssm.inner_size' is missing");
  const std::string inner = "granitehybrid.ssm.inner_size\x04\0\0\0"s;
  has(inner + "\x40\0\0\0"s, inner + "\x48\0\0\0"s, "'granitehybrid.ssm.inner_size': 72 is not a multiple");
  const std::string heads = "granitehybrid.ssm.time_step_rank\x04\0\0\0"s;
  has(heads + "\x08\0\0\0"s, heads + "\0\0\0\0"s, "'granitehybrid.ssm.time_step_rank': 0");
  has("blk.0.ssm_a", "blk.0.ssm_x", "tensor 'blk.0.ssm_a' is missing");
  has("granitehybrid.attention.head_count_kv", "granitehybrid.attention.head_count_kx",
      "'granitehybrid.attention.head_count_kv' is missing");
}

TEST(TiedHead, AHeadThatDiffersFromTheEmbeddingIsTold) {
  Golden g("llama-mha");
  const fs::path folder = fs::temp_directory_path() / fmt::format("quern_tied_{}", ::getpid());
  fs::create_directories(folder);
  fs::copy_file(g.folder / "config.json", folder / "config.json", fs::copy_options::overwrite_existing);
  SafetensorsFile file(g.folder / "model.safetensors");
  NamedTensors tensors;
  for (const auto& [name, e] : file.entries())
    if (name != "lm_head.weight") tensors.emplace_back(name, file.tensor(name));
  auto notes = [&](Tensor head) {
    NamedTensors all = tensors;
    all.emplace_back("lm_head.weight", head);
    save_safetensors(folder / "model.safetensors", all);
    models::LoadReport report;
    models::load_model(nn::builtin_registry(), folder, {}, &report);
    return report.notes;
  };
  Tensor head = file.tensor("model.embed_tokens.weight").clone();
  EXPECT_TRUE(notes(head).empty());
  head.data<float>()[0] += 1;
  head.data<float>()[head.size() - 1] += 1;
  ASSERT_EQ(notes(head).size(), 1u);
  EXPECT_NE(notes(head)[0].find("in 2 of 96 rows"), std::string::npos) << notes(head)[0];
  fs::remove_all(folder);
}

}  // namespace
}  // namespace quern
