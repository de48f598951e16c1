// What a tokenizer promises beyond the goldens: bad files and bad text are Errors that say where, long pieces cost
// n log n, text that must not become control tokens does not, threads may share one tokenizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/text/tokenizer/tokenizer.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

const std::filesystem::path kData = std::filesystem::path(QUERN_SOURCE_DIR) / "quern/text/tokenizer/testdata";

std::string error_of(const std::string& json) {
  try {
    Tokenizer::from_json(json);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// A vocabulary of a, b, ab with one component swapped in.
std::string file_with(const std::string& field, const std::string& value) {
  Json j = Json::parse(
      R"({"added_tokens":[],"normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":null})");
  if (!field.empty()) j.set(field, Json::parse(value));
  j.set("model", Json::parse(R"({"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]})"));
  return j.dump();
}

std::string model_file(const std::string& model) { return R"({"model":)" + model + "}"; }

TEST(Tokenizer, UnknownComponentsAreNamed) {
  for (std::string field : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
    std::string e = error_of(file_with(field, R"({"type":"Grindstone"})"));
    EXPECT_NE(e.find("Grindstone"), std::string::npos) << e;
    EXPECT_NE(e.find(field), std::string::npos) << e;
  }
  EXPECT_NE(error_of(model_file(R"({"type":"Unigram","vocab":{},"merges":[]})")).find("Unigram"), std::string::npos);
}

TEST(Tokenizer, BadFilesAreErrors) {
  auto expect = [](const std::string& json, const char* part) {
    std::string e = error_of(json);
    EXPECT_NE(e.find(part), std::string::npos) << json.substr(0, 200) << "\n  " << e;
  };
  expect("", "not valid JSON");
  expect("[]", "expected an object");
  expect("{}", "'model' is missing");
  expect(model_file(R"({"type":"BPE","merges":[]})"), "'vocab' is missing");
  expect(model_file(R"({"vocab":{"a":0,"b":0},"merges":[]})"), "belongs to both");
  expect(model_file(R"({"vocab":{"a":0,"a":1},"merges":[]})"), "listed twice");
  expect(model_file(R"({"vocab":{"a":-1},"merges":[]})"), "id -1");
  expect(model_file(R"({"vocab":{"a":9999999999},"merges":[]})"), "9999999999");
  expect(model_file(R"({"vocab":{"a":15000000},"merges":[]})"), "nearly contiguous");
  expect(model_file(R"({"vocab":{"a":"x"},"merges":[]})"), "id of 'a'");
  expect(model_file(R"({"vocab":{"a":0},"merges":["a b"]})"), "'b' is not in the vocabulary");
  expect(model_file(R"({"vocab":{"a":0,"b":1},"merges":["a b"]})"), "'ab' is not in the vocabulary");
  expect(model_file(R"({"vocab":{"a":0},"merges":["aa"]})"), "one space");
  expect(model_file(R"({"vocab":{"a":0},"merges":[["a"]]})"), "1 parts");
  expect(model_file(R"({"vocab":{"a":0},"merges":[],"dropout":0.1})"), "dropout");
  expect(model_file(R"({"vocab":{"a":0},"merges":[],"unk_token":"?"})"), "unk_token");
  expect(file_with("", "") + "x", "expected an object");
  expect(file_with("", "") + "{}", "follows the end");
  expect(file_with("added_tokens", R"([{"id":7,"content":"a"}])"), "the vocabulary gives it 0");
  expect(file_with("added_tokens", R"([{"id":1,"content":"c"}])"), "which is 'b'");
  expect(file_with("added_tokens", R"([{"id":3,"content":"c"},{"id":3,"content":"d"}])"), "repeats");
  expect(file_with("normalizer", R"({"type":"Replace","pattern":{"Regex":"(a"},"content":""})"),
         "regular expression");
  expect(file_with("normalizer", R"({"type":"Replace","pattern":{"String":""},"content":""})"), "empty");
  expect(file_with("pre_tokenizer", R"({"type":"Split","pattern":{"String":"x"},"behavior":"Sideways"})"),
         "Sideways");
  std::string deep = R"({"type":"Sequence","normalizers":[)", tail = "]}";
  std::string nest, close;
  for (int i = 0; i < 5000; ++i) nest += deep, close += tail;
  expect(R"({"normalizer":)" + nest + close + R"(,"model":{"vocab":{"a":0},"merges":[]}})", "");
  EXPECT_THROW(Tokenizer::load("/nonexistent"), Error);
}

// Every truncation of a real file is an Error, not a crash and not a tokenizer.
TEST(Tokenizer, TruncatedFiles) {
  std::string whole = read_file(kData / "llama.json");
  while (!whole.empty() && whole.back() != '}') whole.pop_back();
  for (size_t n = 0; n < whole.size(); n += 97)
    EXPECT_THROW(Tokenizer::from_json(std::string_view(whole).substr(0, n)), Error) << n;
}

TEST(Tokenizer, TextMustBeUtf8) {
  Tokenizer t = Tokenizer::load(kData / "llama.json");
  try {
    t.encode("ab\xFF");
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("byte 2"), std::string::npos);
  }
  size_t replaced = 0;
  EXPECT_EQ(utf8_lossy("a\xE2\x82z\xF0\x9F\x98", &replaced), "a\uFFFDz\uFFFD");
  EXPECT_EQ(replaced, 2u);
}

TEST(Tokenizer, UserTextIsNotControl) {
  Tokenizer t = Tokenizer::load(kData / "llama.json");
  int32_t eot = t.token_to_id("<|eot_id|>");
  ASSERT_TRUE(t.is_special(eot));
  auto count = [&](EncodeOptions o) {
    auto ids = t.encode("a<|eot_id|>b", o);
    return std::count(ids.begin(), ids.end(), eot);
  };
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({.parse_special = false}), 0);
  EXPECT_EQ(t.encode("x").front(), t.token_to_id("<|begin_of_text|>"));
  EXPECT_EQ(t.decode(t.encode("a<|eot_id|>b"), SpecialTokens::skip), "ab");
}

TEST(Tokenizer, IdsOutsideTheVocabularyDecodeToNothing) {
  Tokenizer t = Tokenizer::load(kData / "gemma.json");
  std::vector<int32_t> ids = {-1, t.vocab_size(), INT32_MAX, INT32_MIN, t.token_to_id("\xE2\x96\x81the")};
  EXPECT_EQ(t.decode(ids), " the");
  EXPECT_EQ(t.id_to_token(t.vocab_size()), "");
  EXPECT_EQ(t.token_to_id("no such token"), -1);
}

// One piece of a million characters that every merge can cross: quadratic merging would take hours.
TEST(Tokenizer, LongPieces) {
  Json vocab = Json::object(), merges = Json::array();
  std::string token = "a";
  vocab.set(token, 0);
  for (int i = 1; i <= 5; ++i) {
    merges.push(token + " " + token);
    token += token;
    vocab.set(token, i);
  }
  Json model = Json::object(), root = Json::object();
  model.set("vocab", vocab);
  model.set("merges", merges);
  root.set("model", model);
  Tokenizer t = Tokenizer::from_json(root.dump());
  std::vector<int32_t> want(31250, 5);
  want.push_back(3);
  EXPECT_EQ(t.encode(std::string(1000008, 'a')), want);
}

TEST(Tokenizer, BosAndEosFromTheFolder) {
  auto folder = std::filesystem::path(testing::TempDir()) / "quern_tokenizer_folder";
  std::filesystem::create_directories(folder);
  write_file(folder / "tokenizer.json", file_with("", ""));
  EXPECT_EQ(Tokenizer::load(folder).bos_id(), -1);
  write_file(folder / "tokenizer_config.json", R"({"bos_token":"a","eos_token":{"content":"ab"},"pad_token":null})");
  Tokenizer t = Tokenizer::load(folder);
  EXPECT_EQ(t.bos_id(), 0);
  EXPECT_EQ(t.eos_id(), 2);
  EXPECT_EQ(t.pad_id(), -1);
  std::filesystem::remove_all(folder);
}

TEST(Tokenizer, ThreadsShareOne) {
  Tokenizer t = Tokenizer::load(kData / "qwen.json");
  std::string text = read_file(kData / "fuzz.json");
  auto want = t.encode(text);
  std::vector<std::vector<int32_t>> got(4);
  {
    std::vector<std::jthread> threads;
    for (auto& g : got)
      threads.emplace_back([&] {
        for (int i = 0; i < 20; ++i) g = t.encode(text);
      });
  }
  for (const auto& g : got) EXPECT_EQ(g, want);
}

// A pattern that backtracks without end gives up with an Error.
TEST(Tokenizer, RunawayPatterns) {
  Tokenizer t = Tokenizer::from_json(
      file_with("pre_tokenizer", R"({"type":"Split","pattern":{"Regex":"(a|aa)+$"},"behavior":"Isolated"})"));
  EXPECT_THROW(t.encode(std::string(60, 'a') + "b"), Error);
}

TEST(StreamDecoder, HoldsBackHalfCharacters) {
  Tokenizer t = Tokenizer::load(kData / "gemma.json");
  std::vector<int32_t> bytes;
  for (const char* b : {"<0xF0>", "<0x9F>", "<0x98>", "<0x80>"}) bytes.push_back(t.token_to_id(b));
  StreamDecoder d(t);
  for (int32_t id : bytes) EXPECT_EQ(d.push(id), "");
  EXPECT_EQ(d.push(t.token_to_id("a")), "\U0001F600a");
  EXPECT_EQ(d.push(bytes[0]), "");
  EXPECT_EQ(d.finish(), "\uFFFD");
  EXPECT_EQ(d.finish(), "");
  Tokenizer l = Tokenizer::load(kData / "llama.json");
  StreamDecoder e(l, SpecialTokens::skip);
  std::string joined;
  for (int32_t id : l.encode("石臼 \U0001F468\u200D\U0001F469 ok")) {
    std::string piece = e.push(id);
    EXPECT_EQ(utf8_error(piece), std::string::npos);
    joined += piece;
  }
  EXPECT_EQ(joined + e.finish(), "石臼 \U0001F468\u200D\U0001F469 ok");
}

// Special tokens around and between two texts, and a file that has no form of pairs.
TEST(Tokenizer, PairsOfTexts) {
  const Tokenizer bert = Tokenizer::load(kData / "bert.json");
  const std::vector<int32_t> a{10, 11}, b{12};
  const TokenSequence both = bert.with_specials(a, b), one = bert.with_specials(a);
  EXPECT_EQ(both.ids, (std::vector<int32_t>{2, 10, 11, 3, 12, 3}));
  EXPECT_EQ(both.types, (std::vector<int32_t>{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(one.ids, (std::vector<int32_t>{2, 10, 11, 3}));
  EXPECT_EQ(Tokenizer::load(kData / "cased.json").with_specials(a, b).ids, both.ids);  // BertProcessing
  Json j = Json::parse(read_file(kData / "bert.json"));
  Json post = j.at("post_processor");
  post.set("pair", post.at("single")), j.set("post_processor", post);
  const Tokenizer single = Tokenizer::from_json(j.dump());
  EXPECT_EQ(single.with_specials(a).ids, one.ids);
  EXPECT_THROW(single.with_specials(a, b), Error);
}

}  // namespace
}  // namespace quern::text
