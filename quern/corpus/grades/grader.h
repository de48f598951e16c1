// Grader: gives a text a number on a scale that people used for passages, such as 0 to 4 for what somebody learns from it. A
// linear function of the surface of a passage (passage_features.h) and of its vector by the word encoder that ships:
//
//   grade(p) = bias + Σ_i weight_i · x_i,   x = (surface(p), vector(p))
//
// A longer text is cut at paragraphs into passages of about a thousand bytes, as those that were graded; its grade is their
// mean, each weighing as much as it is long, within the ends of the scale. English only.
//
// File: JSON with grader (the version), field, min, max, words (fingerprint of the word encoder), bias and weights.
#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/grades/passage_features.h"
#include "quern/encoders/words/shipped_words.h"

namespace quern::corpus {

struct GraderScale {
  std::string field;  // the column that a grade is written to
  double min = 0, max = 5;
};

class Grader {
 public:
  struct Scratch {
    encoders::WordEncoder::Reader reader;
    std::vector<float> x;
  };
  Grader(GraderScale scale, double bias, std::vector<double> weights);
  static Grader parse(std::string_view json, const std::string& name);  // throws Error on one that it cannot read
  static Grader load(const std::filesystem::path& file);
  std::string json() const;

  const GraderScale& scale() const { return scale_; }
  double grade(std::string_view utf8, Scratch& scratch) const;  // a text without a word has the lowest grade

 private:
  friend void grade_all(std::span<const Grader* const>, std::string_view, Scratch&, std::span<double>);
  GraderScale scale_;
  double bias_;
  std::vector<double> weights_;
};

// The grades of a text by several graders, for little more than the cost of one.
void grade_all(std::span<const Grader* const> graders, std::string_view utf8, Grader::Scratch& scratch,
               std::span<double> out);

// Numbers of a passage: its surface, then its vector.
size_t grader_width();
void grader_inputs(std::string_view passage, Grader::Scratch& scratch);  // into scratch.x

void for_each_passage(std::string_view text, const std::function<void(std::string_view)>& f);

}  // namespace quern::corpus
