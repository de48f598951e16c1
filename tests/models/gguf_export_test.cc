// Models written as .gguf files: the same tensors, bit for bit, as the reference package writes (make_gguf.py,
// make_gguf_hybrids.py), the same logits when read back, tokenizers that encode alike, and what has no place there.
// llama.cpp itself opens them in tools/oracles/models/check_gguf.py.
#include "quern/gguf/export/export_gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/infer/cache/session.h"
#include "quern/tensor/gguf.h"
#include "tests/models/golden.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

class GgufExport : public testing::Test {
 protected:
  GgufExport() { fs::create_directories(folder_); }
  ~GgufExport() override { fs::remove_all(folder_); }
  fs::path file(const std::string& name) const { return folder_ / (name + ".gguf"); }
  gguf::GgufExportReport write(const fs::path& from, const fs::path& to, GgufType type = GgufType::f32) {
    fs::remove(to);
    return gguf::export_gguf(nn::builtin_registry(), from, to, type);
  }
  static std::unique_ptr<models::Model> load(const fs::path& path) {
    models::LoadReport report;
    auto m = models::load_model(nn::builtin_registry(), path, {}, &report);
    EXPECT_TRUE(report.unused.empty() && report.missing.empty()) << path;
    return m;
  }
  // A golden's folder with tokenizer files beside it.
  fs::path with_tokenizer(const std::string& golden, const std::string& tokenizer, int64_t vocab) {
    const fs::path to = folder_ / ("with-" + tokenizer);
    fs::create_directories(to);
    Json config = Json::read(Golden(golden).folder / "config.json");
    config.set("vocab_size", vocab);
    write_file(to / "config.json", config.dump());
    auto model = models::build_model(nn::builtin_registry(), config);
    nn::initialize(*model, 3);
    models::save_model(*model, to, DType::f32);
    fs::copy_file(fs::path(QUERN_SOURCE_DIR) / "quern/text/tokenizer/testdata" / (tokenizer + ".json"),
                  to / "tokenizer.json");
    write_file(to / "chat_template.jinja", "{{ messages[0].content }}");
    return to;
  }
  fs::path folder_ = fs::temp_directory_path() / fmt::format("quern_gguf_export_{}", ::getpid());
};

TEST_F(GgufExport, TensorsAreTheReferencesOwn) {
  for (const char* name : {"llama-gqa", "llama-yarn", "granite-h", "bamba", "falcon-h1", "nemotron-h"}) {
    write(Golden(name).folder, file(name));
    const GgufFile ours(file(name));
    const GgufFile theirs(fs::path(QUERN_SOURCE_DIR) / "tests/goldens/gguf-models" / (std::string(name) + ".gguf"));
    EXPECT_EQ(ours.entries().size(), theirs.entries().size()) << name;
    for (const auto& [tensor, e] : theirs.entries()) {
      ASSERT_TRUE(ours.entries().count(tensor)) << name << ": " << tensor;
      const Tensor a = ours.tensor(tensor), b = theirs.tensor(tensor);
      ASSERT_EQ(a.shape(), b.shape()) << tensor;
      // exp of another library may differ in the last bit, and so may products with factors.
      const bool computed =
          tensor.ends_with("ssm_a") || tensor == "rope_freqs.weight" || std::string(name) == "falcon-h1";
      for (int64_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a.item(i), b.item(i), computed ? 1e-6 * std::abs(b.item(i)) : 0) << tensor;
    }
    for (const auto& [key, value] : theirs.metadata()) {
      if (key == "granitehybrid.rope.freq_base" && !ours.metadata().count(key)) continue;  // nothing is rotated there
      ASSERT_TRUE(ours.metadata().count(key)) << name << ": " << key;
      EXPECT_EQ(ours.metadata().at(key).dump(), value.dump()) << name << ": " << key;
    }
  }
}

TEST_F(GgufExport, ReadBackItIsTheSameModel) {
  for (const char* name : {"llama-gqa", "llama-mha", "llama-yarn", "qwen2-bias", "mistral-window", "granite-h",
                           "granite-h-moe", "bamba", "falcon-h1", "nemotron-h"}) {
    const Golden g(name);
    const gguf::GgufExportReport r = write(g.folder, file(name));
    EXPECT_EQ(r.notes.size(), std::string(name) == "mistral-window" ? 2u : 1u) << name;  // no tokenizer
    const auto ids = std::span(g.tokens).first(64);
    const Tensor want = infer::all_logits(*load(g.folder), ids);
    EXPECT_LE(relative_error(infer::all_logits(*load(file(name)), ids), want), 1e-6) << name;
    for (const auto& [type, most] : {std::pair{GgufType::bf16, 0.1}, {GgufType::f16, 0.02}, {GgufType::q8_0, 0.1}}) {
      write(g.folder, file(name), type);
      EXPECT_LE(relative_error(infer::all_logits(*load(file(name)), ids), want), most)
          << name << " as type " << static_cast<int>(type);
    }
    // A .gguf file may become another.
    write(file(name), folder_ / "again.gguf");
    EXPECT_EQ(GgufFile(folder_ / "again.gguf").entries().size(), GgufFile(file(name)).entries().size()) << name;
  }
}

TEST_F(GgufExport, TokenizersEncodeAlike) {
  for (const char* tokenizer : {"llama", "qwen", "mistral"}) {
    const text::Tokenizer want = text::Tokenizer::load(fs::path(QUERN_SOURCE_DIR) / "quern/text/tokenizer/testdata" /
                                                       (std::string(tokenizer) + ".json"));
    const fs::path from = with_tokenizer("llama-gqa", tokenizer, want.vocab_size() + 3);
    const gguf::GgufExportReport r = write(from, file(tokenizer));
    ASSERT_TRUE(r.notes.empty()) << tokenizer << ": " << r.notes[0];
    const text::Tokenizer got = models::load_tokenizer(file(tokenizer));
    for (const char* text : {"Once upon a time", " two  spaces", "It's 1234567, we'll go", "Grüße 猫 🌾", "a\n\nb\t"})
      EXPECT_EQ(got.encode(text, {.add_special_tokens = false}), want.encode(text, {.add_special_tokens = false}))
          << tokenizer << ": " << text;
    EXPECT_EQ(models::load_chat_template(file(tokenizer), "llama").source(), "{{ messages[0].content }}");
  }
  // Splitting that has no name in the format.
  const gguf::GgufExportReport r = write(with_tokenizer("llama-gqa", "neox", 4096), file("neox"));
  ASSERT_EQ(r.notes.size(), 1u);
  EXPECT_NE(r.notes[0].find("GGUF has no name for the way tokenizer.json splits text"), std::string::npos);
}

TEST_F(GgufExport, WhatHasNoPlaceThereIsNamed) {
  auto refusal = [&](const std::string& golden, const std::function<void(Json&)>& change) {
    const fs::path from = folder_ / "changed";
    fs::remove_all(from);
    fs::copy(Golden(golden).folder, from);
    Json config = Json::read(from / "config.json");
    change(config);
    write_file(from / "config.json", config.dump());
    return message_of([&] { write(from, file("refused")); });
  };
  auto has = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " | " << message;
  };
  has(refusal("zamba2-2block", [](Json&) {}), "the family 'zamba2' have no place in a GGUF file");
  has(refusal("qwen3-dynamic", [](Json&) {}), "rope_type: 'dynamic'");
  has(refusal("llama-gqa", [](Json& c) { c.set("hidden_act", "gelu"); }), "hidden_act: 'gelu'");
  has(refusal("granite-h", [](Json& c) { c.set("time_step_limit", Json::parse("[0.01, 0.1]")); }), "time_step_limit");
  EXPECT_FALSE(fs::exists(file("refused")));
  write_file(file("there"), "");
  has(message_of([&] {
        gguf::export_gguf(nn::builtin_registry(), Golden("llama-gqa").folder, file("there"), GgufType::f32);
      }),
      "already exists");
}

}  // namespace
}  // namespace quern
