// Models written as .gguf files: the same tensors, bit for bit, as the reference package writes (make_gguf.py,
// make_gguf_hybrids.py), the same logits when read back, tokenizers that encode alike, and what has no place there.
// llama.cpp itself opens them in tools/oracles/models/check_gguf.py.
#include "quern/gguf/export/export_gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

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
  static Json tokenizer_json(const std::string& name) {
    return Json::read(fs::path(QUERN_SOURCE_DIR) / "quern/text/tokenizer/testdata" / (name + ".json"));
  }
  // With every pair of tokens that together are one as a merge, in the order of what they become, as transformers converts
  // files of SentencePiece.
  static Json all_merges(Json tokenizer) {
    Json model = tokenizer.at("model");
    const Json vocab = model.at("vocab");
    Json merges = Json::array();
    for (const auto& [whole, id] : vocab.as_object())  // by number
      for (size_t at = 1; at < whole.size(); ++at)
        if (const std::string left = whole.substr(0, at), right = whole.substr(at);
            vocab.find(left) && vocab.find(right))
          merges.push(Json::Array{left, right});
    model.set("merges", merges);
    tokenizer.set("model", model);
    return tokenizer;
  }
  static bool noted(const gguf::GgufExportReport& r, const std::string& part) {
    return std::any_of(r.notes.begin(), r.notes.end(), [&](const std::string& n) { return n.find(part) != n.npos; });
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
    write_file(to / "tokenizer.json", tokenizer_json(tokenizer).dump());
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
  for (const std::string tokenizer : {"llama", "qwen", "mistral"}) {
    const fs::path from = with_tokenizer(
        "llama-gqa", tokenizer, text::Tokenizer::from_json(tokenizer_json(tokenizer).dump()).vocab_size() + 3);
    if (tokenizer == "mistral") write_file(from / "tokenizer.json", all_merges(tokenizer_json(tokenizer)).dump());
    const text::Tokenizer want = text::Tokenizer::load(from);
    const gguf::GgufExportReport r = write(from, file(tokenizer));
    ASSERT_TRUE(r.notes.empty()) << tokenizer << ": " << r.notes[0];
    write(file(tokenizer), folder_ / "again.gguf");  // its tokenizer goes along
    for (const fs::path& made : {file(tokenizer), folder_ / "again.gguf"}) {
      const text::Tokenizer got = models::load_tokenizer(made);
      for (const char* text :
           {"Once upon a time", " two  spaces", "It's 1234567, we'll go", "Grüße 猫 🌾", "a\n\nb\t"})
        EXPECT_EQ(got.encode(text), want.encode(text)) << made << ": " << text;
      EXPECT_EQ(models::load_chat_template(made, "llama").source(), "{{ messages[0].content }}");
    }
  }
}

TEST_F(GgufExport, OtherTokenizersStayOut) {
  auto left_out = [&](const fs::path& from) {
    const gguf::GgufExportReport r = write(from, file("none"));
    EXPECT_TRUE(noted(r, "GGUF has no name for the way tokenizer.json splits text")) << from;
    const GgufFile made(file("none"));
    EXPECT_EQ(made.metadata().at("tokenizer.ggml.model").as_string(), "no_vocab");
    EXPECT_EQ(made.metadata().at("tokenizer.chat_template").as_string(), "{{ messages[0].content }}");
  };
  left_out(with_tokenizer("llama-gqa", "neox", 4096));
  const fs::path pieces = with_tokenizer("llama-gqa", "mistral", 4096);  // lacks merges that scores would make
  left_out(pieces);
  Json t = all_merges(tokenizer_json("mistral"));
  t.set("normalizer", Json::parse(R"({"type": "NFKC"})"));
  write_file(pieces / "tokenizer.json", t.dump());
  left_out(pieces);
  t.set("normalizer", tokenizer_json("mistral").at("normalizer"));
  t.set("pre_tokenizer", Json::parse(R"({"type": "Whitespace"})"));
  write_file(pieces / "tokenizer.json", t.dump());
  left_out(pieces);
  const fs::path digits = with_tokenizer("llama-gqa", "neox", 4096);
  t = tokenizer_json("neox");
  t.erase("normalizer");
  t.set("pre_tokenizer", Json::parse(R"({"type": "Sequence", "pretokenizers": [
    {"type": "Digits", "individual_digits": false}, {"type": "ByteLevel", "add_prefix_space": false}]})"));
  write_file(digits / "tokenizer.json", t.dump());
  left_out(digits);
  Json model = t.at("model");
  model.set("merges", Json::parse("[[]]"));
  t.set("model", model);
  t.set("pre_tokenizer", Json::parse(R"({"type": "ByteLevel", "add_prefix_space": false})"));
  write_file(digits / "tokenizer.json", t.dump());
  EXPECT_EQ(message_of([&] { write(digits, file("none")); }),
            "tokenizer.json, merges: expected pairs, found 0 pieces");
}

TEST_F(GgufExport, SpecialTokensAreThoseOfConfigAndTemplate) {
  const fs::path from = with_tokenizer("llama-gqa", "qwen", 4096);
  Json config = Json::read(from / "config.json");
  config.erase("bos_token_id");
  config.set("eos_token_id", Json::Array{5, 6}), config.set("pad_token_id", -1);
  write_file(from / "config.json", config.dump());
  Json t = tokenizer_json("qwen");
  const Json::Object& vocab = t.at("model").at("vocab").as_object();
  auto token = [&](int64_t id) {
    return std::find_if(vocab.begin(), vocab.end(), [&](const auto& v) { return v.second == Json(id); })->first;
  };
  Json processor = Json::parse(R"({"type": "TemplateProcessing", "pair": []})"), special = Json::object();
  auto piece = [&](int64_t id) {
    Json entry = Json::parse(R"({"type_id": 0})"), of = Json::object(), whole = Json::object();
    entry.set("id", token(id)), of.set("SpecialToken", entry);
    whole.set("id", token(id)), whole.set("ids", Json::Array{id}), whole.set("tokens", Json::Array{token(id)});
    special.set(token(id), whole);
    return of;
  };
  processor.set("single", Json::Array{piece(7), Json::parse(R"({"Sequence": {"id": "A", "type_id": 0}})"), piece(5)});
  processor.set("special_tokens", special);
  t.set("post_processor", processor);
  write_file(from / "tokenizer.json", t.dump());
  const gguf::GgufExportReport r = write(from, file("special"));
  EXPECT_EQ(r.notes,
            std::vector<std::string>{"config.json, eos_token_id: of 2 tokens the file names the first only"});
  const GgufFile made(file("special"));
  EXPECT_EQ(made.metadata().at("tokenizer.ggml.bos_token_id").as_int(), 7);
  EXPECT_EQ(made.metadata().at("tokenizer.ggml.eos_token_id").as_int(), 5);
  EXPECT_FALSE(made.metadata().contains("tokenizer.ggml.padding_token_id"));
  EXPECT_EQ(models::load_tokenizer(file("special")).encode("a b"), text::Tokenizer::load(from).encode("a b"));
}

TEST_F(GgufExport, YarnIsWrittenAsTheModelReadsIt) {
  auto changed = [&](const std::function<void(Json&, Json&)>& change) {
    const fs::path from = folder_ / "yarn";
    fs::remove_all(from);
    fs::copy(Golden("llama-yarn").folder, from);
    Json config = Json::read(from / "config.json");
    const char* key = config.find("rope_parameters") ? "rope_parameters" : "rope_scaling";
    Json rope = config.at(key);
    change(config, rope);
    config.set(key, rope);
    write_file(from / "config.json", config.dump());
    return from;
  };
  const Golden golden("llama-yarn");
  const auto ids = std::span(golden.tokens).first(64);
  auto same = [&](const fs::path& from) {
    write(from, file("yarn"));
    EXPECT_LE(relative_error(infer::all_logits(*load(file("yarn")), ids), infer::all_logits(*load(from), ids)), 1e-6);
  };
  same(changed([](Json&, Json& r) { r.set("factor", Json()); }));
  same(changed([](Json& c, Json&) { c.set("original_max_position_embeddings", 32); }));
  same(changed([](Json&, Json& r) { r.set("beta_fast", 0), r.set("beta_slow", 0); }));
  EXPECT_NE(message_of([&] {
              write(changed([](Json&, Json& r) { r.set("truncate", false); }), file("yarn"));
            }).find("truncate"),
            std::string::npos);
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
  has(refusal("qwen2-bias",
              [](Json& c) {
                c.set("rope_parameters", Json::parse(R"({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
                  "high_freq_factor": 4, "original_max_position_embeddings": 64, "rope_theta": 10000})"));
              }),
      "rope_type: 'llama3' has no place in a GGUF file of architecture qwen2");
  EXPECT_FALSE(fs::exists(file("refused")));
  write_file(file("there"), "");
  has(message_of([&] {
        gguf::export_gguf(nn::builtin_registry(), Golden("llama-gqa").folder, file("there"), GgufType::f32);
      }),
      "already exists");
}

TEST_F(GgufExport, UnusedTensorsAreNamedAndF16HasItsRange) {
  const fs::path from = folder_ / "more";
  fs::copy(Golden("llama-gqa").folder, from);
  const SafetensorsFile source(Golden("llama-gqa").folder / "model.safetensors");
  auto save = [&](const Tensor& extra, const std::string& name) {
    NamedTensors tensors;
    for (const auto& [own, e] : source.entries())
      if (own != name) tensors.emplace_back(own, source.tensor(own));
    tensors.emplace_back(name, extra);
    save_safetensors(from / "model.safetensors", tensors);
  };
  save(Tensor::full({3}, DType::f32, 1), "model.extra");
  EXPECT_TRUE(noted(write(from, file("more")), "tensor 'model.extra' is not used"));
  const std::string head = "model.layers.0.mlp.gate_proj.weight";
  save(Tensor::full(source.entries().at(head).shape, DType::f32, 70000), head);
  write(from, file("more"), GgufType::bf16);
  EXPECT_EQ(message_of([&] { write(from, file("more"), GgufType::f16); }),
            "tensor 'blk.0.ffn_gate.weight': 70000 is beyond the range of f16, choose bf16 or f32");
}

}  // namespace
}  // namespace quern
