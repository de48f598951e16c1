// Graders: the surface of a passage, passages of a text, ridge regression against its own condition, files, what ships.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/test_message.h"
#include "quern/corpus/grades/grader_training.h"
#include "quern/corpus/grades/shipped_graders.h"

namespace quern::corpus {
namespace {

constexpr std::string_view kLesson =
    "A queue is a list in which what came first leaves first. Suppose that you wait at a counter: the person who "
    "came before "
    "you is served before you. Why does this matter? Because nobody waits for ever, however many people come. For "
    "example, a "
    "printer that has three documents to print takes the oldest one, and the others move up by one place.";
constexpr std::string_view kIndex =
    "gtk_widget_get_name()\ngtk_widget_set_name()\nGtkWidgetClass | 412\nGTK_TYPE_WIDGET | 413\ngtk_widget_new() | "
    "77\n"
    "gtk_widget_hide() | 81, 92\ngtk_widget_show_all()";

std::array<float, kPassageFeatures> features(std::string_view text) {
  std::array<float, kPassageFeatures> x{};
  passage_features(text, x);
  return x;
}

TEST(PassageFeatures, AreCountedByHand) {
  // Five words, 18 characters without spaces: 15 letters, 1 digit, 1 symbol, 1 full stop; two lines, one sentence.
  const auto x = features("The Über_cat, then\n2 ran.");
  const float words = 5;
  EXPECT_FLOAT_EQ(x[0], std::log1p(words));
  EXPECT_FLOAT_EQ(x[1], std::log1p(words) * std::log1p(words));
  EXPECT_FLOAT_EQ(x[2], (3 + 8 + 4 + 1 + 3) / words);
  EXPECT_FLOAT_EQ(x[3], 17.0f / 21);
  EXPECT_FLOAT_EQ(x[4], 1.0f / 21);
  EXPECT_FLOAT_EQ(x[5], 1.0f / 21);  // the _
  EXPECT_FLOAT_EQ(x[6], 2 / words);  // the, then
  EXPECT_FLOAT_EQ(x[7], 5.0f / 2 / 60);
  EXPECT_FLOAT_EQ(x[8], std::log(2.0f / 5 + 0.01f));
  EXPECT_FLOAT_EQ(x[9], 1 / words);  // Ü is beyond ASCII
  EXPECT_FLOAT_EQ(x[10], 0);
  EXPECT_FLOAT_EQ(x[11], 1);
  EXPECT_FLOAT_EQ(x[12], 1 / words);  // then
  EXPECT_FLOAT_EQ(x[13], 1 / words);
  EXPECT_FLOAT_EQ(x[15], 1 / words);  // Über_cat
  for (const float v : features(" \n ")) EXPECT_EQ(v, 0);
}

TEST(Passages, AreTheTextInPieces) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::string(static_cast<size_t>(30 + 17 * i), 'a') + (i % 3 ? "\n\n" : " ");
  for (int i = 0; i < 3000; ++i) text += "é";
  std::string whole;
  size_t pieces = 0;
  for_each_passage(text, [&](std::string_view p) {
    EXPECT_LE(p.size(), 3002u);
    EXPECT_NE(static_cast<unsigned char>(p[0]) & 0xC0, 0x80);
    whole += p, ++pieces;
  });
  EXPECT_EQ(whole, text);
  EXPECT_GT(pieces, 6u);
  for_each_passage("", [](std::string_view) { ADD_FAILURE(); });
}

// At the minimum of Σ (y − ŷ)² + Σ λ (w σ)² its slope is 0 for the bias and for every weight.
TEST(GraderTraining, StandsAtTheMinimum) {
  std::vector<std::string> texts;
  std::vector<double> grades;
  for (int i = 0; i < 60; ++i) {
    std::string t;
    for (int k = 0; k <= i % 7 + 3; ++k)
      t += std::string(k % 2 ? kLesson : kIndex).substr(static_cast<size_t>(i), 20 + static_cast<size_t>(k) * 5) +
           ". ";
    texts.push_back(t), grades.push_back(std::fmod(i * 0.37, 5));
  }
  GraderTrainer trainer;
  for (size_t i = 0; i < texts.size(); ++i) trainer.add(texts[i], grades[i]);
  ASSERT_EQ(trainer.texts(), texts.size());
  const GraderPenalties p{.surface = 3, .vector = 11};
  const Json j = Json::parse(trainer.train("value", p).json(), "grader");
  std::vector<double> w;
  for (const Json& x : j.at("weights").as_array()) w.push_back(x.as_double());
  Grader::Scratch scratch;
  const size_t n = texts.size(), width = grader_width();
  ASSERT_EQ(w.size(), width);
  std::vector<std::vector<double>> x(n);
  std::vector<double> rest(n);
  for (size_t i = 0; i < n; ++i) {
    grader_inputs(texts[i], scratch);
    x[i].assign(scratch.x.begin(), scratch.x.end());
    rest[i] = grades[i] - j.at("bias").as_double();
    for (size_t k = 0; k < width; ++k) rest[i] -= w[k] * x[i][k];
  }
  double sum = 0, size = 0;
  for (const double r : rest) sum += r, size += std::abs(r);
  EXPECT_LT(std::abs(sum), 1e-3 * size);
  for (size_t k = 0; k < width; ++k) {
    double mean = 0, square = 0, slope = 0, parts = 0;
    for (size_t i = 0; i < n; ++i) mean += x[i][k] / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
      const double d = x[i][k] - mean;
      square += d * d / static_cast<double>(n), slope += rest[i] * d, parts += std::abs(rest[i] * d);
    }
    const double lambda = k < kPassageFeatures ? p.surface : p.vector;
    EXPECT_NEAR(slope, lambda * w[k] * square, 2e-3 * parts + 1e-9) << k;
  }
}

TEST(GraderTraining, SaysWhatItCannotLearnFrom) {
  GraderTrainer few;
  few.add(kLesson, 3);
  EXPECT_EQ(message_of([&] { few.train("value"); }), "1 passages with a grade: expected 20 or more");
  for (int i = 0; i < 30; ++i) few.add(kIndex, 3);
  EXPECT_EQ(message_of([&] { few.train("value"); }), "all grades are 3: nothing to learn");
  EXPECT_EQ(message_of([&] { few.add(kLesson, std::nan("")); }), "a grade that is not a finite number");
}

TEST(GradeAgreement, IsPearsonsAndTheMeanError) {
  GradeAgreement a;
  for (const auto& [known, given] : {std::pair{0.0, 1.0}, {1.0, 1.0}, {2.0, 4.0}, {5.0, 4.0}}) a.add(known, given);
  EXPECT_EQ(a.report().texts, 4u);
  EXPECT_NEAR(a.report().correlation, 0.8017837, 1e-6);  // numpy.corrcoef
  EXPECT_NEAR(a.report().mean_error, 1.0, 1e-12);
}

TEST(Grader, IsReadAsWrittenAndRefusesOthers) {
  const std::string json = shipped_education().json();
  EXPECT_EQ(Grader::parse(json, "x").json(), json);
  const auto refused = [](const std::string& text) { return message_of([&] { Grader::parse(text, "x"); }); };
  EXPECT_EQ(refused("{}"), "x: not a grader of train-classifier");
  EXPECT_EQ(refused(R"({"grader":9})"), "x: version 9 of graders, expected 1");
  Json other = Json::parse(json, "x");
  other.set("weights", Json::array());
  EXPECT_EQ(refused(other.dump()), fmt::format("x: 0 weights, expected {}: train it again", grader_width()));
  other.set("words", "0");
  EXPECT_EQ(refused(other.dump()), "x: trained with another word encoder than that of this program: train it again");
}

TEST(ShippedGraders, TellALessonFromAnIndex) {
  Grader::Scratch s;
  EXPECT_GT(shipped_education().grade(kLesson, s), shipped_education().grade(kIndex, s) + 1);
  EXPECT_LT(shipped_reading_level().grade(kLesson, s), shipped_reading_level().grade(kIndex, s));
  EXPECT_EQ(shipped_education().grade(" ", s), shipped_education().scale().min);
  // A text of the same passage many times has its grade, nearly: it is cut elsewhere.
  std::string book;
  for (int i = 0; i < 30; ++i) book += std::string(kLesson) + "\n\n";
  EXPECT_NEAR(shipped_education().grade(book, s), shipped_education().grade(kLesson, s), 0.7);
}

}  // namespace
}  // namespace quern::corpus
