// Trains a grader: ridge regression on graded passages, in closed form. Inputs are brought to mean 0 and deviation 1 first;
// the surface and the vector have penalties of their own, for the vector's numbers are many and each says little.
#pragma once
#include <string_view>
#include <vector>

#include "quern/corpus/grades/grader.h"

namespace quern::corpus {

struct GraderPenalties {
  double surface = 100, vector = 500;
};

class GraderTrainer {
 public:
  GraderTrainer();
  void add(std::string_view text, double grade);
  size_t texts() const { return texts_; }
  // The scale reaches from the lowest to the highest grade that was added.
  Grader train(const std::string& field, const GraderPenalties& penalties = {}) const;

 private:
  size_t width_, texts_ = 0;
  double min_ = 0, max_ = 0, sum_ = 0;
  std::vector<double> sums_, products_, with_grade_;  // Σ x, Σ x xᵀ (lower half), Σ x y
  Grader::Scratch scratch_;
};

// How grades agree with those of people.
struct GradeReport {
  size_t texts = 0;
  double correlation = 0, mean_error = 0;  // Pearson's r; mean absolute error
};
class GradeAgreement {
 public:
  void add(double known, double given);
  GradeReport report() const;

 private:
  double n_ = 0, x_ = 0, y_ = 0, xx_ = 0, yy_ = 0, xy_ = 0, error_ = 0;
};

}  // namespace quern::corpus
