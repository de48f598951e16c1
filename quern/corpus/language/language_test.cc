// The shipped classifier against a computation in Python (testdata/languages.json, made by
// tools/oracles/corpus/languages.py), instruction sets against each other, training, files.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "quern/base/cpu.h"
#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/corpus/language/label_report.h"
#include "quern/corpus/language/languages.h"
#include "quern/corpus/language/letters.h"
#include "quern/corpus/language/ngram_sums.h"
#include "quern/corpus/language/ngram_training.h"
#include "quern/text/unicode/utf8.h"

namespace quern::corpus {
namespace {

std::string letters_as_text(std::string_view utf8) {
  std::vector<uint16_t> letters;
  read_letters(utf8, letters);
  std::string out;
  for (uint16_t s : letters) text::utf8_append(out, s);
  return out;
}

TEST(Languages, AreWhatPythonComputes) {
  const Json golden = Json::read(QUERN_SOURCE_DIR "/quern/corpus/language/testdata/languages.json");
  NgramClassifier::Scratch scratch;
  const NgramClassifier& c = shipped_languages();
  for (const Json& one : golden.as_array()) {
    const std::string& text = one.at("text").as_string();
    EXPECT_EQ(letters_as_text(text), one.at("letters").as_string());
    const NgramClassifier::Answer a = c.classify(text, scratch);
    EXPECT_EQ(a.label < 0 ? kUnknownLanguage : c.labels()[static_cast<size_t>(a.label)],
              one.at("language").as_string())
        << text;
    EXPECT_NEAR(static_cast<double>(a.probability), one.at("probability").as_double(), 1e-4) << text;
  }
  EXPECT_GE(golden.as_array().size(), 16u);
}

TEST(Languages, ATextAmongOthersGivesTheSame) {
  const std::string text = "Le moulin tourne encore, et la rivière n'a pas changé son cours depuis l'an dernier.";
  NgramClassifier::Scratch fresh, used;
  const NgramClassifier& c = shipped_languages();
  c.classify(std::string(100'000, 'x'), used);
  EXPECT_EQ(c.classify(text, fresh).probability, c.classify(text, used).probability);
  EXPECT_EQ(fresh.scores, used.scores);
}

TEST(NgramSums, InstructionSetsAgree) {
  std::mt19937 random(5);
  for (size_t width : {16u, 32u, 48u, 64u}) {
    std::vector<int8_t> rows(width * 300);
    for (int8_t& r : rows) r = static_cast<int8_t>(random() % 256);
    std::vector<uint32_t> buckets(1000);
    for (uint32_t& b : buckets) b = static_cast<uint32_t>(random() % 300);
    std::fill_n(buckets.begin(), 600, 7);  // as large a sum as there is
    std::fill_n(rows.begin() + static_cast<std::ptrdiff_t>(7 * width), width, int8_t{-128});
    std::vector<int32_t> slow(width, 3), fast(width, 3);
    add_rows_ref(rows.data(), width, buckets, slow.data());
    if (detected_isa() != Isa::ref)
      add_rows_avx2(rows.data(), width, buckets, fast.data());
    else
      fast = slow;
    EXPECT_EQ(slow, fast) << width;
  }
}

NgramTraining small_training() {
  NgramTraining t;
  t.shape.bits = 10, t.shape.width = 16, t.passes = 3, t.pieces = 200;
  return t;
}

std::string nonsense(std::mt19937& random, std::string_view alphabet) {
  std::string s;
  for (int i = 0; i < 120; ++i) s += random() % 6 == 0 ? ' ' : alphabet[random() % alphabet.size()];
  return s;
}

TEST(NgramTraining, LearnsAndIsDeterministic) {
  const auto trained = [](std::string& bytes) {
    std::mt19937 random(1);
    NgramTrainer trainer(small_training());
    for (int i = 0; i < 60; ++i)
      trainer.add(nonsense(random, "aeioutns"), "one"), trainer.add(nonsense(random, "bcdfoutn"), "two");
    trainer.add("one text alone", "three");
    const NgramClassifier c = trainer.train(10);
    EXPECT_EQ(trainer.left_out(), std::vector<std::string>{"three"});
    bytes = c.bytes();
    return c;
  };
  std::string first, second;
  const NgramClassifier c = trained(first);
  trained(second);
  EXPECT_EQ(first, second);
  EXPECT_EQ(c.labels(), (std::vector<std::string>{"one", "two"}));
  std::mt19937 random(2);
  NgramClassifier::Scratch scratch;
  LabelReport report;
  for (int i = 0; i < 50; ++i) {
    report.add("one", c.labels()[static_cast<size_t>(c.classify(nonsense(random, "aeioutns"), scratch).label)]);
    report.add("two", c.labels()[static_cast<size_t>(c.classify(nonsense(random, "bcdfoutn"), scratch).label)]);
  }
  EXPECT_GE(report.macro_f1(), 0.98);
  EXPECT_EQ(c.classify("12 !!", scratch).label, -1);
}

TEST(NgramClassifier, DamagedFilesAreRefused) {
  const std::string sound = shipped_languages().bytes();
  EXPECT_EQ(NgramClassifier::parse(sound, "sound").bytes(), sound);
  EXPECT_THROW(NgramClassifier::parse("", "x"), Error);
  EXPECT_THROW(NgramClassifier::parse(sound.substr(0, 40), "x"), Error);
  EXPECT_THROW(NgramClassifier::parse(sound.substr(0, sound.size() - 1), "x"), Error);
  EXPECT_THROW(NgramClassifier::parse(sound + "x", "x"), Error);
  std::string wide = sound;
  wide.replace(wide.find("\"bits\":"), 9, "\"bits\":99");
  EXPECT_THROW(NgramClassifier::parse(wide, "x"), Error);
}

// Rows of 127, and one number says which of two labels.
std::string largest_rows(const std::string& orders) {
  std::string s = "quern-ngrams-1\n{\"shape\":{\"bits\":1,\"width\":16,\"orders\":" + orders +
                  "},\"labels\":[\"a\",\"b\"],\"scale\":0.01}\n" + std::string(32, 127);
  std::vector<float> floats(2 * 16 + 2);
  floats[0] = 1, floats[16] = -1;
  return s.append(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
}

TEST(NgramClassifier, AVeryLongTextDoesNotOverflow) {
  const NgramClassifier c = NgramClassifier::parse(largest_rows("[1,2,3,4]"), "x");
  std::string text;
  for (int i = 0; i < 2'300'000; ++i) text += "ab";  // 18.4 million n-grams: more than 2^31 / 127
  NgramClassifier::Scratch scratch;
  const NgramClassifier::Answer a = c.classify(text, scratch);
  ASSERT_GT(scratch.buckets.size(), size_t{17'000'000});
  EXPECT_EQ(a.label, 0);
  EXPECT_NEAR(a.probability, 1 / (1 + std::exp(-2 * 1.27)), 1e-4);
  EXPECT_THROW(NgramClassifier::parse(largest_rows("[1,1,1,1,1]"), "x"), Error);
  std::string no_number = largest_rows("[1]");
  no_number.replace(no_number.size() - 4, 4, std::string("\0\0\xC0\x7F", 4));
  EXPECT_THROW(NgramClassifier::parse(no_number, "x"), Error);
}

TEST(LabelReport, CountsByHand) {
  LabelReport r;
  for (const auto& [known, answer] :
       {std::pair{"a", "a"}, {"a", "a"}, {"a", "b"}, {"b", "b"}, {"b", "c"}, {"b", "b"}})
    r.add(known, answer);
  EXPECT_DOUBLE_EQ(r.accuracy(), 4.0 / 6);
  EXPECT_DOUBLE_EQ(r.labels().at("a").f1(), 4.0 / 5);  // precision 1, recall 2/3
  EXPECT_DOUBLE_EQ(r.labels().at("b").f1(), 4.0 / 6);
  EXPECT_DOUBLE_EQ(r.macro_f1(), (4.0 / 5 + 4.0 / 6) / 2);  // no text is of c
}

}  // namespace
}  // namespace quern::corpus
