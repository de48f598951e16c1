// GGUF: every kind of metadata and type of tensor against the reference package (tools/oracles/tensor/make_gguf.py),
// and hostile files refused by field.
#include "quern/tensor/gguf.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "quern/base/mmap.h"
#include "quern/base/test_message.h"
#include "quern/tensor/gguf_writer.h"
#include "quern/tensor/safetensors.h"

namespace quern {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = fs::path(QUERN_SOURCE_DIR) / "tests/goldens/gguf";

TEST(Gguf, EveryTypeIsWhatTheReferenceMakesOfIt) {
  GgufFile f(kGoldens / "kinds.gguf");
  SafetensorsFile expected(kGoldens / "kinds.safetensors");
  ASSERT_EQ(f.entries().size(), 6u);
  for (const auto& [name, e] : f.entries()) {
    Tensor a = f.tensor(name), b = expected.tensor(name);
    ASSERT_EQ(a.shape(), b.shape()) << name;
    for (int64_t i = 0; i < a.size(); ++i) ASSERT_EQ(a.item(i), b.item(i)) << name << " at " << i;
  }
}

TEST(GgufWriter, WhatIsWrittenIsReadBack) {
  const fs::path path = fs::temp_directory_path() / fmt::format("quern_written_{}.gguf", ::getpid());
  GgufWriter w;
  w.set("t.u32", uint32_t{4000000000}), w.set("t.f32", 0.5f), w.set("t.bool", true),
      w.set("t.text", std::string("tea"));
  w.set("t.whole", std::vector<int32_t>{-1, 2}), w.set("t.words", std::vector<std::string>{"a", "bc"});
  Tensor x = Tensor::empty({3, 64}, DType::f32);
  for (int64_t i = 0; i < x.size(); ++i)
    x.data<float>()[i] = std::ldexp(1.0f + static_cast<float>(i % 7) / 7, static_cast<int>(i % 40) - 30);
  x.data<float>()[1] = -0.0f, x.data<float>()[2] = 65504.0f, x.data<float>()[3] = -65519.0f;
  for (const auto& [name, type] :
       {std::pair{"f32", GgufType::f32}, {"f16", GgufType::f16}, {"bf16", GgufType::bf16}, {"q8", GgufType::q8_0}})
    w.add(name, x.shape(), type, [x] { return x; });
  w.write(path);
  const GgufFile f(path);
  EXPECT_EQ(f.metadata().at("t.u32").as_int(), 4000000000);
  EXPECT_EQ(f.metadata().at("t.f32").as_double(), 0.5);
  EXPECT_TRUE(f.metadata().at("t.bool").as_bool());
  EXPECT_EQ(f.metadata().at("t.text").as_string(), "tea");
  EXPECT_EQ(f.metadata().at("t.whole").dump(), "[-1,2]");
  EXPECT_EQ(f.metadata().at("t.words").dump(), R"(["a","bc"])");
  const Tensor b = x.to(DType::bf16);
  for (int64_t i = 0; i < x.size(); ++i) {
    const double v = x.item(i), half = f.tensor("f16").item(i);
    EXPECT_EQ(f.tensor("f32").item(i), v);
    EXPECT_EQ(f.tensor("bf16").item(i), b.item(i));
    // Half of the last place, or of the steps below the smallest normal number.
    EXPECT_LE(std::abs(half - v), std::max(std::abs(v) / 2048, 1.0 / (1 << 25))) << i << ": " << v;
  }
  for (int64_t row = 0; row < 3; ++row)
    for (int64_t at = 0; at < 64; at += 32) {
      double most = 0;
      for (int64_t i = 0; i < 32; ++i) most = std::max(most, std::abs(x.item(64 * row + at + i)));
      for (int64_t i = 64 * row + at; i < 64 * row + at + 32 && most < 65504 * 127; ++i)
        EXPECT_LE(std::abs(f.tensor("q8").item(i) - x.item(i)), most / 127 * 0.57) << i;
    }
  EXPECT_NE(message_of([&] {
              w.add("odd", {2, 33}, GgufType::q8_0, {});
            }).find("rows are not whole blocks of 32"),
            std::string::npos);
  for (const auto& [type, value] : {std::pair{GgufType::f16, -7e4f}, {GgufType::q8_0, 1e7f}}) {  // q8_0: its scale
    GgufWriter beyond;
    beyond.add("b", {32}, type, [v = value] { return Tensor::full({32}, DType::f32, v); });
    EXPECT_NE(message_of([&] { beyond.write(path); }).find("is beyond the range of f16"), std::string::npos);
  }
  GgufWriter wrong;
  wrong.add("x", {2, 2}, GgufType::f32, [x] { return x; });
  EXPECT_NE(message_of([&] { wrong.write(path); }).find("tensor 'x', shape: expected [2, 2], found [3, 64]"),
            std::string::npos);
  fs::remove(path);
}

TEST(Gguf, EveryKindOfMetadata) {
  GgufFile f(kGoldens / "kinds.gguf");
  auto m = [&](const char* key) { return f.metadata().at(key); };
  EXPECT_EQ(m("general.architecture").as_string(), "llama");
  EXPECT_EQ(m("t.u8").as_int(), 200);
  EXPECT_EQ(m("t.i8").as_int(), -100);
  EXPECT_EQ(m("t.u16").as_int(), 60000);
  EXPECT_EQ(m("t.i16").as_int(), -30000);
  EXPECT_EQ(m("t.u32").as_int(), 4000000000);
  EXPECT_EQ(m("t.i32").as_int(), -2000000000);
  EXPECT_EQ(m("t.u64").as_int(), int64_t{1} << 60);
  EXPECT_EQ(m("t.i64").as_int(), -(int64_t{1} << 60));
  EXPECT_EQ(m("t.f32").as_double(), 0.5);
  EXPECT_EQ(m("t.f64").as_double(), 0.1);
  EXPECT_TRUE(m("t.bool").as_bool());
  EXPECT_EQ(m("t.string").as_string(), "tea and \xE7\x8C\xAB");
  ASSERT_EQ(m("t.words").as_array().size(), 3u);
  EXPECT_EQ(m("t.words").as_array()[2].as_string(), "cde");
  EXPECT_EQ(m("t.ints").as_array()[1].as_int(), -1);
}

template <class T>
std::string le(T v) {
  std::string s(sizeof v, '\0');
  std::memcpy(s.data(), &v, sizeof v);
  return s;
}
std::string text(const std::string& s) { return le(uint64_t{s.size()}) + s; }
std::string head(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
  return "GGUF" + le(version) + le(tensors) + le(keys);
}
std::string directory(const std::string& name, std::vector<uint64_t> extents, uint32_t type, uint64_t offset) {
  std::string s = text(name) + le(static_cast<uint32_t>(extents.size()));
  for (uint64_t d : extents) s += le(d);
  return s + le(type) + le(offset);
}
std::string with_data(std::string s, size_t n) {
  s.resize((s.size() + 31) / 32 * 32 + n);
  return s;
}

class GgufHostile : public testing::Test {
 protected:
  ~GgufHostile() override { fs::remove(path_); }
  std::string refusal(const std::string& content) {
    write_file(path_, content);
    return message_of([&] { GgufFile f(path_); });
  }
  fs::path path_ = fs::temp_directory_path() / fmt::format("quern_{}.gguf", ::getpid());
};

TEST_F(GgufHostile, FilesAreRefusedByField) {
  const uint64_t much = uint64_t{1} << 62;
  const std::string key = head(0, 1) + text("k"), aligned = head(0, 1) + text("general.alignment") + le(4u);
  struct Case {
    std::string content, expected;
  };
  const Case cases[] = {
      {"", "not a GGUF file"},
      {"GGML" + std::string(40, '\0'), "not a GGUF file"},
      {"GGUF", "version"},
      {head(0, 0, 1), "version: 1, expected 2 or 3"},
      {head(0, 0, 0x03000000), "big-endian"},
      {head(much, 0), "number of tensors"},
      {head(0, much), "number of metadata keys"},
      {head(0, 1) + le(much) + "kkkkk", "metadata key 0"},
      {key + le(13u), "metadata 'k': unknown kind 13"},
      {key + le(8u) + le(much), "metadata 'k'"},
      {key + le(7u) + "\x02", "metadata 'k': 2 is not a truth value"},
      {key + le(10u) + le(~uint64_t{0}), "metadata 'k': 18446744073709551615 is too large"},
      {key + le(9u) + le(9u) + le(uint64_t{1}), "arrays of arrays"},
      {key + le(9u) + le(99u) + le(uint64_t{1}), "unknown kind 99"},
      {key + le(9u) + le(0u) + le(much), "metadata 'k', number of items"},
      {head(0, 2) + text("k") + le(0u) + "a" + text("k") + le(0u) + "a", "metadata 'k': given twice"},
      {aligned + le(0u), "'general.alignment': 0"},
      {aligned + le(24u), "'general.alignment': 24"},
      {aligned + le(1u << 30), "'general.alignment': 1073741824"},
      {with_data(head(1, 0) + directory("t", {1, 1, 1, 1, 1}, 0, 0), 32), "tensor 't': 5 extents"},
      {with_data(head(1, 0) + directory("t", {1}, 77, 0), 32), "tensor 't', type: 77"},
      {with_data(head(1, 0) + directory("t", {100}, 12, 0), 999), "rows of 100 are not whole Q4_K blocks"},
      {with_data(head(1, 0) + directory("t", {much, 4}, 0, 0), 32), "tensor 't', shape: [4, 4611686018427387904]"},
      {with_data(head(1, 0) + directory("t", {much}, 0, 0), 32), "too large"},
      {with_data(head(1, 0) + directory("t", {~uint64_t{0}}, 0, 0), 32), "too large"},
      {with_data(head(1, 0) + directory("t", {8}, 0, 4), 64), "tensor 't', offset: 4 is not a multiple"},
      {with_data(head(1, 0) + directory("t", {8}, 0, 32), 32), "outside the 32 data bytes"},
      {with_data(head(1, 0) + directory("t", {8}, 0, ~uint64_t{31}), 32), "outside the 32 data bytes"},
      {head(1, 0) + directory("t", {8}, 0, 0), "outside the 0 data bytes"},
      {with_data(head(2, 0) + directory("t", {16}, 0, 0) + directory("u", {8}, 0, 32), 64), "overlaps that of 't'"},
      {with_data(head(2, 0) + directory("t", {8}, 0, 0) + directory("t", {8}, 0, 32), 64), "'t': listed twice"},
  };
  for (const Case& c : cases) {
    std::string m = refusal(c.content);
    EXPECT_NE(m.find(c.expected), std::string::npos) << c.expected << " | " << m;
    EXPECT_EQ(m.find(path_.string()), 0u) << m;
  }
}

TEST_F(GgufHostile, NoPrefixOfAFileIsRead) {
  const std::string whole = read_file(kGoldens / "kinds.gguf");
  for (size_t n = 0; n < 1200; ++n) ASSERT_NE(refusal(whole.substr(0, n)), "") << n;
  EXPECT_NE(refusal(whole.substr(0, whole.size() - 64)), "");
  EXPECT_EQ(refusal(whole), "");
}

}  // namespace
}  // namespace quern
