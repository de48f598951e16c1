// Filters by grade: education:MIN keeps a document when the shipped grader gives it at least MIN, reading-level:MAX when the
// level is at most MAX, grader:FILE:MIN by a grader that was trained here (train-classifier --grade-field).
#include <memory>

#include "quern/corpus/filters/filter_arguments.h"
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/grades/shipped_graders.h"

namespace quern::corpus {
namespace {

class GradeFilter : public DocumentFilter {
 public:
  GradeFilter(std::shared_ptr<const Grader> grader, double limit, bool at_most, const char* rule)
      : grader_(std::move(grader)), limit_(limit), at_most_(at_most), names_{rule} {}
  std::span<const char* const> rules() const override { return names_; }
  FilterResult apply(std::string_view utf8) override {
    const double grade = grader_->grade(utf8, scratch_);
    FilterResult r;
    r.text = utf8;
    r.failing = at_most_ ? !(grade <= limit_) : !(grade >= limit_);
    return r;
  }

 private:
  std::shared_ptr<const Grader> grader_;
  double limit_;
  bool at_most_;
  const char* names_[1];
  Grader::Scratch scratch_;
};

FilterMaker grade_filter(std::shared_ptr<const Grader> grader, const std::string& limit, bool at_most,
                         const char* rule, const char* form) {
  const double x = number_argument(limit, grader->scale().min, grader->scale().max, form);
  return [=] { return std::make_unique<GradeFilter>(grader, x, at_most, rule); };
}

}  // namespace

FilterMaker education_filter(const std::string& arguments) {
  return grade_filter(not_owned(shipped_education()), arguments, false, "education", "education:MIN");
}

FilterMaker reading_level_filter(const std::string& arguments) {
  return grade_filter(not_owned(shipped_reading_level()), arguments, true, "reading_level", "reading-level:MAX");
}

FilterMaker grader_filter(const std::string& arguments) {
  constexpr const char* kForm = "grader:FILE:MIN";
  const std::vector<std::string> a = filter_arguments(arguments, 2, kForm);
  return grade_filter(std::make_shared<const Grader>(Grader::load(a[0])), a[1], false, "grade", kForm);
}

}  // namespace quern::corpus
