// Sketches against what datasketch's arithmetic, numpy, ftfy, NLTK and hashlib say (testdata/sketch.json, made by
// tools/oracles/corpus/sketch_goldens.py), and the fast versions against the definitions.
#include "quern/corpus/sketch/sketch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "quern/base/cpu.h"
#include "quern/base/test_message.h"
#include "quern/corpus/sketch/minhash.h"
#include "quern/corpus/text/char_class.h"

namespace quern::corpus {
namespace {

const Json& golden() {
  static const Json j = Json::read(QUERN_SOURCE_DIR "/quern/corpus/sketch/testdata/sketch.json");
  return j;
}

std::vector<Isa> isas() {
  std::vector<Isa> v = {Isa::ref};
  if (detected_isa() >= Isa::avx2) v.push_back(Isa::avx2);
  if (detected_isa() >= Isa::avx512) v.push_back(Isa::avx512);
  return v;
}

class WithIsa {
 public:
  explicit WithIsa(Isa isa) : before_(active_isa()) { set_active_isa(isa); }
  ~WithIsa() { set_active_isa(before_); }

 private:
  Isa before_;
};

std::vector<std::string> tokens_of(TextNormalizer kind, const std::string& text) {
  Tokens t;
  std::string scratch;
  normalize(kind, text, t, scratch);
  std::vector<std::string> out;
  for (size_t i = 0; i < t.size(); ++i) out.emplace_back(t[i]);
  return out;
}

std::vector<uint32_t> numbers(const Json& j) {
  std::vector<uint32_t> v;
  for (const Json& x : j.as_array()) v.push_back(static_cast<uint32_t>(x.as_int()));
  return v;
}

TEST(Permutations, AreDatasketchs) {
  const Permutations p = datasketch_permutations(128);
  for (size_t i = 0; i < 128; ++i) {
    EXPECT_EQ(std::to_string(p.a[i]), golden().at("a").as_array()[i].as_string());
    EXPECT_EQ(std::to_string(p.b[i]), golden().at("b").as_array()[i].as_string());
  }
  EXPECT_EQ(p.a[0], 775169054918279404u);
  EXPECT_EQ(p.b[127], 1454448473341514576u);
}

TEST(Permutations, MurmurSeedsAreNumpys) { EXPECT_EQ(murmur_seeds(128), numbers(golden().at("murmur_seeds"))); }

TEST(Murmur, MatchesItsDescription) {
  for (const Json& c : golden().at("murmur").as_array())
    EXPECT_EQ(murmur3_32(c.as_array()[0].as_string(), static_cast<uint32_t>(c.as_array()[1].as_int())),
              static_cast<uint32_t>(c.as_array()[2].as_int()));
}

TEST(Sha1, FirstWordEverywhere) {
  for (Isa isa : isas()) {
    WithIsa with(isa);
    std::string text;
    std::vector<uint32_t> begin, end, expected;
    for (const Json& c : golden().at("sha1").as_array()) {
      begin.push_back(static_cast<uint32_t>(text.size()));
      text += c.as_array()[0].as_string();
      end.push_back(static_cast<uint32_t>(text.size()));
      expected.push_back(static_cast<uint32_t>(c.as_array()[1].as_int()));
    }
    std::vector<uint32_t> out(begin.size());
    sha1_low32(text, begin, end, out);
    EXPECT_EQ(out, expected) << isa_name(isa);
  }
}

TEST(Sha1, FastEqualsPlain) {
  std::mt19937 random(3);
  std::string text(5000, ' ');
  for (char& c : text) c = static_cast<char>(random());
  std::vector<uint32_t> begin, end;
  for (int i = 0; i < 301; ++i) {
    begin.push_back(random() % 4500);
    end.push_back(begin.back() + random() % 300);
  }
  std::vector<std::vector<uint32_t>> all;
  for (Isa isa : isas()) {
    WithIsa with(isa);
    all.emplace_back(begin.size());
    sha1_low32(text, begin, end, all.back());
  }
  for (const auto& out : all) EXPECT_EQ(out, all[0]);
}

TEST(Bands, OptimizerGivesThePublishedShapes) {
  for (const Json& c : golden().at("bands").as_array()) {
    const auto& row = c.as_array();
    EXPECT_EQ(best_bands(row[0].as_double(), 128),
              (BandShape{static_cast<int>(row[1].as_int()), static_cast<int>(row[2].as_int())}))
        << row[0].as_double();
  }
  const BandAreas zyda = band_areas(0.4, {32, 4}), zyda2 = band_areas(0.85, {8, 16});
  EXPECT_NEAR(zyda.false_positive, 0.0533, 5e-5);
  EXPECT_NEAR(zyda.false_negative, 0.0326, 5e-5);
  EXPECT_NEAR(zyda2.false_positive, 0.0261, 5e-5);
  EXPECT_NEAR(zyda2.false_negative, 0.0223, 5e-5);
  EXPECT_NEAR(collision_probability(0.3, {32, 4}), 0.229, 5e-4);
}

TEST(Bands, OptimizerIsDatasketchs) {
  const Json all = Json::read(QUERN_SOURCE_DIR "/quern/corpus/sketch/testdata/band_shapes.json");
  ASSERT_GT(all.as_array().size(), 200u);
  for (const Json& c : all.as_array()) {
    const auto& row = c.as_array();
    const double threshold = row[0].as_double(), weight = row[2].as_double();
    const BandShape shape{static_cast<int>(row[3].as_int()), static_cast<int>(row[4].as_int())};
    EXPECT_EQ(best_bands(threshold, static_cast<int>(row[1].as_int()), weight), shape) << c.dump();
    const BandAreas areas = band_areas(threshold, shape);
    EXPECT_NEAR(areas.false_positive, row[5].as_double(), 1e-6) << c.dump();
    EXPECT_NEAR(areas.false_negative, row[6].as_double(), 1e-6) << c.dump();
  }
}

TEST(TextNormalizer, TokensAreFtfyAndNltks) {
  for (const Json& c : golden().at("cases").as_array()) {
    std::vector<std::string> expected;
    for (const Json& t : c.at("tokens").as_array()) expected.push_back(t.as_string());
    EXPECT_EQ(tokens_of(TextNormalizer::zyda1, c.at("text").as_string()), expected) << c.at("text").as_string();
    std::string plain;
    for (const std::string& t : tokens_of(TextNormalizer::slimpajama, c.at("text").as_string()))
      plain += (plain.empty() ? "" : " ") + t;
    EXPECT_EQ(plain, c.at("plain").as_string());
  }
}

TEST(TextNormalizer, RawIsCodePoints) {
  EXPECT_EQ(tokens_of(TextNormalizer::raw, "aé😀"), (std::vector<std::string>{"a", "é", "😀"}));
  EXPECT_TRUE(tokens_of(TextNormalizer::raw, "").empty());
}

TEST(Sketch, RowsAreThePublishedOnes) {
  for (Isa isa : isas()) {
    WithIsa with(isa);
    SketchMaker maker({.family = RowFamily::datasketch});
    for (const Json& c : golden().at("cases").as_array()) {
      const Sketch& s = maker.make(c.at("text").as_string());
      EXPECT_EQ(std::vector<uint32_t>(s.rows.begin(), s.rows.end()), numbers(c.at("rows"))) << isa_name(isa);
    }
    // The numbers of the published golden vector.
    const Sketch& s = maker.make(golden().at("cases").as_array()[0].at("text").as_string());
    EXPECT_EQ(s.shingles.size(), 13u);
    EXPECT_EQ(s.rows[0], 1169848708u);
    EXPECT_EQ(s.rows[127], 240062015u);
    EXPECT_EQ(maker.tokens().joined().substr(0, 62),
              "the quick brown fox jumps over the lazy dog its quoted \xE2\x80\x94 and");
  }
}

TEST(Sketch, MurmurRowsOfWindows) {
  for (Isa isa : isas()) {
    WithIsa with(isa);
    SketchMaker maker(
        {.text_normalizer = TextNormalizer::raw, .shingle = 25, .family = RowFamily::murmur, .seed = 10});
    const Sketch& s = maker.make(golden().at("raw_text").as_string());
    EXPECT_EQ(std::vector<uint32_t>(s.rows.begin(), s.rows.end()), numbers(golden().at("raw_rows"))) << isa_name(isa);
  }
}

TEST(Sketch, FastRowsEqualPlain) {
  std::mt19937_64 random(7);
  std::vector<uint32_t> h(1000);
  for (uint32_t& x : h) x = static_cast<uint32_t>(random());
  h[5] = 0xffffffffu, h[6] = 0;
  const Permutations p = datasketch_permutations(192, 9);
  std::vector<std::vector<uint32_t>> all;
  for (Isa isa : isas()) {
    WithIsa with(isa);
    all.emplace_back(192);
    datasketch_rows(p, h, all.back());
  }
  for (const auto& rows : all) EXPECT_EQ(rows, all[0]);
}

TEST(Sketch, ShortDocumentsHaveNoShingles) {
  for (RowFamily f : {RowFamily::datasketch, RowFamily::one_permutation}) {
    SketchMaker maker({.family = f});
    const Sketch& s = maker.make("one two three four five six seven eight nine ten eleven twelve");
    EXPECT_TRUE(s.shingles.empty());
    for (uint32_t r : s.rows) EXPECT_EQ(r, kEmptyRow);
  }
}

TEST(Sketch, ShinglesRollAsIfMadeAlone) {
  SketchMaker maker({.shingle = 3});
  const auto all = maker.shingles("a b c d e a b c");
  const std::vector<uint64_t> whole(all.begin(), all.end());
  ASSERT_EQ(whole.size(), 6u);
  EXPECT_EQ(whole[0], whole[5]);
  EXPECT_EQ(std::set<uint64_t>(whole.begin(), whole.end()).size(), 5u);
  const char* windows[] = {"a b c", "b c d", "c d e", "d e a", "e a b"};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(maker.shingles(windows[i])[0], whole[i]) << i;
}

// The estimate from one permutation must be as good as independent rows: sets that share a known part.
TEST(Sketch, OnePermutationEstimatesSimilarity) {
  std::mt19937_64 random(11);
  for (double j : {0.2, 0.5, 0.9}) {
    double sum = 0, squares = 0;
    constexpr int kTrials = 200;
    for (int trial = 0; trial < kTrials; ++trial) {
      const int total = trial % 2 ? 60 : 1000, shared = static_cast<int>(j * total);
      std::vector<uint64_t> a, b;
      for (int i = 0; i < total; ++i) {
        const uint64_t x = random();
        if (i < shared || i % 2) a.push_back(x);
        if (i < shared || i % 2 == 0) b.push_back(x);
      }
      std::vector<uint32_t> ra(128), rb(128);
      one_permutation_rows(a, ra), one_permutation_rows(b, rb);
      int same = 0;
      for (size_t i = 0; i < 128; ++i) same += ra[i] == rb[i];
      const double error = same / 128.0 - static_cast<double>(shared) / total;
      sum += error, squares += error * error;
    }
    EXPECT_LT(std::abs(sum / kTrials), 0.012) << j;
    EXPECT_LT(std::sqrt(squares / kTrials), 0.075) << j;
  }
}

// Python's classes, but for characters that its Unicode version does not know yet.
TEST(CharClass, AgreesWithPython) {
  const uint8_t* cls = char_classes();
  const auto members = [&](const char* name) {
    std::vector<bool> in(0x110000);
    const auto& r = golden().at(name).as_array();
    for (size_t i = 0; i < r.size(); i += 2)
      for (int64_t c = r[i].as_int(); c < r[i + 1].as_int(); ++c) in[static_cast<size_t>(c)] = true;
    return in;
  };
  const std::vector<bool> unknown = members("unknown_ranges");
  const auto differing = [&](const char* name, uint8_t bit) {
    const std::vector<bool> python = members(name);
    int n = 0;
    for (size_t c = 0; c < 0x110000; ++c) n += !unknown[c] && python[c] != ((cls[c] & bit) != 0);
    return n;
  };
  EXPECT_EQ(differing("space_ranges", kSpaceChar), 0);
  EXPECT_EQ(differing("digit_ranges", kDigitChar), 0);
  EXPECT_EQ(differing("word_ranges", kWordChar), 0);
}

TEST(Sketch, RefusesBadShapes) {
  EXPECT_NE(message_of([] { SketchMaker({.shingle = 0}); }).find("shingle 0"), std::string::npos);
  EXPECT_NE(message_of([] { SketchMaker({.rows = 1000}); }).find("rows 1000"), std::string::npos);
}

}  // namespace
}  // namespace quern::corpus
