#include "quern/corpus/grades/grader_training.h"

#include <algorithm>
#include <cmath>

#include "quern/base/error.h"

namespace quern::corpus {
namespace {

constexpr size_t kMinTexts = 20;

// Solves A·x = b for a symmetric positive definite A [n, n] (lower half, row-major), in place of b.
void solve(std::vector<double>& a, std::vector<double>& b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j <= i; ++j) {
      double s = a[i * n + j];
      for (size_t k = 0; k < j; ++k) s -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(s) : s / a[j * n + j];
    }
  for (size_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < i; ++k) b[i] -= a[i * n + k] * b[k];
    b[i] /= a[i * n + i];
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[k * n + i] * b[k];
    b[i] /= a[i * n + i];
  }
}

}  // namespace

GraderTrainer::GraderTrainer()
    : width_(grader_width()), sums_(width_), products_(width_ * width_), with_grade_(width_) {}

void GraderTrainer::add(std::string_view text, double grade) {
  if (!std::isfinite(grade)) fail("a grade that is not a finite number");
  for_each_passage(text, [&](std::string_view passage) {
    grader_inputs(passage, scratch_);
    for (size_t i = 0; i < width_; ++i) {
      const auto x = static_cast<double>(scratch_.x[i]);
      sums_[i] += x, with_grade_[i] += x * grade;
      for (size_t j = 0; j <= i; ++j) products_[i * width_ + j] += x * static_cast<double>(scratch_.x[j]);
    }
    min_ = texts_ == 0 ? grade : std::min(min_, grade), max_ = texts_ == 0 ? grade : std::max(max_, grade);
    sum_ += grade, ++texts_;
  });
}

Grader GraderTrainer::train(const std::string& field, const GraderPenalties& p) const {
  if (texts_ < kMinTexts) fail("{} passages with a grade: expected {} or more", texts_, kMinTexts);
  if (min_ == max_) fail("all grades are {}: nothing to learn", min_);
  const auto n = static_cast<double>(texts_);
  std::vector<double> mean(width_), scale(width_), a(width_ * width_), b(width_);
  for (size_t i = 0; i < width_; ++i) {
    mean[i] = sums_[i] / n;
    const double variance = products_[i * width_ + i] / n - mean[i] * mean[i];
    scale[i] = variance > 1e-12 ? 1 / std::sqrt(variance) : 0;  // a number that never changes says nothing
  }
  for (size_t i = 0; i < width_; ++i) {
    for (size_t j = 0; j <= i; ++j)
      a[i * width_ + j] = (products_[i * width_ + j] - n * mean[i] * mean[j]) * scale[i] * scale[j];
    a[i * width_ + i] += i < kPassageFeatures ? p.surface : p.vector;
    b[i] = (with_grade_[i] - sum_ * mean[i]) * scale[i];
  }
  solve(a, b);
  double bias = sum_ / n;
  for (size_t i = 0; i < width_; ++i) b[i] *= scale[i], bias -= b[i] * mean[i];
  return {{field, min_, max_}, bias, std::move(b)};
}

void GradeAgreement::add(double known, double given) {
  ++n_, x_ += known, y_ += given, xx_ += known * known, yy_ += given * given, xy_ += known * given;
  error_ += std::abs(known - given);
}

GradeReport GradeAgreement::report() const {
  if (n_ == 0) return {};
  const double vx = xx_ - x_ * x_ / n_, vy = yy_ - y_ * y_ / n_;
  return {static_cast<size_t>(n_), vx > 0 && vy > 0 ? (xy_ - x_ * y_ / n_) / std::sqrt(vx * vy) : 0, error_ / n_};
}

}  // namespace quern::corpus
