// Identity with the reference: ids and decoded text of 10,000 fuzzed strings for each family, as hashes made by
// tools/oracles/text/make_tokenizers.py. The strings come from the generator that script uses, repeated here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "quern/base/json.h"
#include "quern/base/mmap.h"
#include "quern/text/tokenizer/tokenizer.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

const std::filesystem::path kData = std::filesystem::path(QUERN_SOURCE_DIR) / "quern/text/tokenizer/testdata";
constexpr size_t kStrings = 10000, kRandom = 2000;

struct SplitMix {
  uint64_t s;
  uint64_t next() {
    uint64_t z = s += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return (next() >> 11) % n; }
};

struct Fuzz {
  std::vector<std::string> fragments;
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  Fuzz() {
    Json j = Json::read(kData / "fuzz.json");
    for (const Json& f : j.at("fragments").as_array()) fragments.push_back(f.as_string());
    for (const Json& r : j.at("ranges").as_array())
      ranges.emplace_back(static_cast<uint32_t>(r.as_array()[0].as_int()),
                          static_cast<uint32_t>(r.as_array()[1].as_int()));
  }
  std::string make(uint64_t seed) const {
    SplitMix r{seed};
    std::string out;
    for (uint64_t n = r.below(24); n > 0; --n) {
      if (r.below(4) == 0) {
        auto [lo, hi] = ranges[r.below(ranges.size())];
        utf8_append(out, static_cast<char32_t>(lo + r.below(hi - lo + 1)));
      } else {
        out += fragments[r.below(fragments.size())];
      }
    }
    return out;
  }
};

uint32_t fnv32(const void* data, size_t n) {
  uint64_t h = 0xCBF29CE484222325u;
  for (size_t i = 0; i < n; ++i) h = (h ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001B3u;
  return static_cast<uint32_t>(h ^ (h >> 32));
}

std::string show(std::span<const int32_t> ids, const Tokenizer& t) {
  std::string s;
  for (int32_t id : ids) s += fmt::format("{}={} ", id, Json(t.id_to_token(id)).dump());
  return s;
}

class Golden : public testing::TestWithParam<const char*> {
 protected:
  Tokenizer t = Tokenizer::load(kData / (std::string(GetParam()) + ".json"));
  std::vector<uint32_t> expected = [] {
    std::string raw = read_file(kData / (std::string(GetParam()) + ".hashes"));
    std::vector<uint32_t> v(raw.size() / 4);
    std::memcpy(v.data(), raw.data(), v.size() * 4);
    return v;
  }();
};

TEST_P(Golden, SameIdsAndTextAsTheReference) {
  ASSERT_EQ(expected.size(), 2 * kStrings + kRandom);
  Fuzz fuzz;
  size_t wrong_ids = 0, wrong_text = 0;
  for (size_t i = 0; i < kStrings; ++i) {
    std::string s = fuzz.make(i);
    auto ids = t.encode(s, {.add_special_tokens = i % 2 == 0, .parse_special = i % 5 != 0});
    if (fnv32(ids.data(), ids.size() * 4) != expected[i] && ++wrong_ids <= 5)
      ADD_FAILURE() << "string " << i << " " << Json(s).dump() << "\n  gives " << show(ids, t);
    std::string back = t.decode(ids, i % 3 == 0 ? SpecialTokens::skip : SpecialTokens::keep);
    if (fnv32(back.data(), back.size()) != expected[kStrings + i] && ++wrong_text <= 5)
      ADD_FAILURE() << "string " << i << " " << Json(s).dump() << " comes back as " << Json(back).dump();
  }
  EXPECT_EQ(wrong_ids, 0u);
  EXPECT_EQ(wrong_text, 0u);
}

TEST_P(Golden, RandomIdsDecodeAsInTheReferenceAndAsAStream) {
  SplitMix r{99};
  auto n = static_cast<uint64_t>(t.vocab_size());
  for (size_t i = 0; i < kRandom; ++i) {
    std::vector<int32_t> ids(r.below(40));
    for (auto& id : ids) id = static_cast<int32_t>(r.below(2) ? r.below(n) : r.below(std::min<uint64_t>(n, 300)));
    std::string text = t.decode(ids, i % 3 == 0 ? SpecialTokens::skip : SpecialTokens::keep);
    ASSERT_EQ(fnv32(text.data(), text.size()), expected[2 * kStrings + i]) << i << ": " << show(ids, t) << "\n"
                                                                           << Json(text).dump();
    StreamDecoder d(t, i % 3 == 0 ? SpecialTokens::skip : SpecialTokens::keep);
    std::string joined;
    for (int32_t id : ids) {
      std::string piece = d.push(id);
      ASSERT_EQ(utf8_error(piece), std::string::npos) << i;
      joined += piece;
    }
    ASSERT_EQ(joined + d.finish(), text) << i;
  }
}

// Every code point, 256 at a time, between two letters.
TEST(GoldenCharacters, AreThoseOfTheReference) {
  const Tokenizer t = Tokenizer::load(kData / "bert.json");
  const std::string raw = read_file(kData / "bert_characters.hashes");
  for (char32_t block = 0; block < 0x110000; block += 256) {
    std::string text;
    for (char32_t c = block; c < block + 256; ++c) {
      if (c >= 0xD800 && c < 0xE000) continue;
      text += c > block ? " b" : "b";
      utf8_append(text, c);
      text += 'c';
    }
    const std::vector<int32_t> ids = t.encode(text);
    uint32_t want;
    std::memcpy(&want, raw.data() + block / 256 * 4, 4);
    EXPECT_EQ(fnv32(ids.data(), ids.size() * 4), want) << fmt::format("U+{:04X} …", static_cast<uint32_t>(block));
  }
}

// What is written loads again and encodes the same.
TEST_P(Golden, SaveAndLoad) {
  auto file = std::filesystem::path(testing::TempDir()) / (std::string("quern_") + GetParam() + ".json");
  t.save(file);
  Tokenizer again = Tokenizer::load(file);
  Fuzz fuzz;
  for (size_t i = 0; i < 300; ++i) {
    auto ids = again.encode(fuzz.make(i), {.add_special_tokens = i % 2 == 0, .parse_special = i % 5 != 0});
    ASSERT_EQ(fnv32(ids.data(), ids.size() * 4), expected[i]) << i;
  }
  std::filesystem::remove(file);
}

INSTANTIATE_TEST_SUITE_P(Families, Golden,
                         testing::Values("gemma", "mistral", "metaspace", "llama", "qwen", "neox", "misc", "bert",
                                         "cased", "unigram"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace quern::text
