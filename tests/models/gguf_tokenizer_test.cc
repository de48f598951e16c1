// The tokenizers that .gguf files hold, against the tokenizer.json they were made from
// (tools/oracles/models/make_gguf_tokenizers.py).
#include "quern/gguf/gguf_tokenizer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/models/checkpoint.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kFiles = fs::path(QUERN_SOURCE_DIR) / "tests/goldens/gguf-tokenizers";

TEST(GgufTokenizer, IdsAreTheReferences) {
  const Json expected = Json::read(kFiles / "expected.json");
  for (const auto& [name, cases] : expected.as_object()) {
    text::Tokenizer t = models::load_tokenizer(kFiles / (name + ".gguf"));
    for (const Json& c : cases.as_array()) {
      const std::string& text = c.as_array()[0].as_string();
      std::vector<int32_t> want;
      for (const Json& id : c.as_array()[1].as_array()) want.push_back(static_cast<int32_t>(id.as_int()));
      EXPECT_EQ(t.encode(text), want) << name << ": '" << text << "'";
      const bool lossy = name == "qwen" || text.find("\xE2\x96\x81") != text.npos;  // NFC and marks stay
      EXPECT_TRUE(lossy || t.decode(want, text::SpecialTokens::skip) == text) << name << ": '" << text << "'";
    }
  }
}

TEST(GgufTokenizer, SpecialTokensAreKnown) {
  text::Tokenizer t = models::load_tokenizer(kFiles / "mistral.gguf");
  EXPECT_EQ(t.bos_id(), 1);
  EXPECT_EQ(t.eos_id(), 2);
  EXPECT_EQ(t.pad_id(), -1);
  EXPECT_TRUE(t.is_special(2));
  EXPECT_EQ(t.encode("</s>", {.add_special_tokens = false}), std::vector<int32_t>{2});
  EXPECT_EQ(models::load_tokenizer(kFiles / "qwen.gguf").bos_id(), -1);
}

TEST(GgufTokenizer, WhatIsNotSupportedIsNamed) {
  const fs::path path = fs::temp_directory_path() / fmt::format("quern_tokenizer_{}.gguf", ::getpid());
  auto refusal = [&](const char* file, const std::string& from, const std::string& to) {
    std::string content = read_file(kFiles / file);
    const size_t at = content.find(from);
    EXPECT_NE(at, content.npos);
    content.replace(at, from.size(), to);
    write_file(path, content);
    return message_of([&] { gguf::read_tokenizer(GgufFile(path)); });
  };
  EXPECT_NE(refusal("qwen.gguf", "gpt2", "bert").find("'tokenizer.ggml.model': 'bert'"), std::string::npos);
  EXPECT_NE(refusal("qwen.gguf", "qwen2", "tekkn").find("'tokenizer.ggml.pre': 'tekkn'"), std::string::npos);
  EXPECT_NE(refusal("mistral.gguf", "ggml.scores", "ggml.scared").find("'tokenizer.ggml.scores' is missing"),
            std::string::npos);
  fs::remove(path);
}

}  // namespace
}  // namespace quern
