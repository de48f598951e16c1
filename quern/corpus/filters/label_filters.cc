// Filters by what a text is: language:CODES[:MIN] keeps a document when the shipped classifier gives one of these
// languages, separated by commas, at least probability MIN, all of them together; label:MODEL:LABELS:MIN does so with a
// model that was trained here (train-classifier --label-field).
#include <memory>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/corpus/filters/filter_arguments.h"
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/language/languages.h"

namespace quern::corpus {
namespace {

constexpr const char* kLanguageForm = "language:CODE,CODE:MIN";
constexpr const char* kLabelForm = "label:MODEL:LABEL,LABEL:MIN";

class LabelFilter : public DocumentFilter {
 public:
  LabelFilter(std::shared_ptr<const NgramClassifier> model, std::vector<size_t> wanted, double minimum,
              const char* rule)
      : model_(std::move(model)), wanted_(std::move(wanted)), minimum_(minimum), names_{rule} {}
  std::span<const char* const> rules() const override { return names_; }
  FilterResult apply(std::string_view utf8) override {
    FilterResult r;
    r.text = utf8;
    double p = 0;
    if (model_->classify(utf8, scratch_).label >= 0)
      for (size_t l : wanted_) p += static_cast<double>(scratch_.scores[l]);
    r.failing = !(p >= minimum_);  // what overflows is kept by nobody
    return r;
  }

 private:
  std::shared_ptr<const NgramClassifier> model_;
  std::vector<size_t> wanted_;
  double minimum_;
  const char* names_[1];
  NgramClassifier::Scratch scratch_;
};

std::vector<size_t> find_labels(const std::string& words, const std::vector<std::string>& labels, const char* form) {
  std::vector<size_t> found;
  for (size_t at = 0; at <= words.size();) {
    const size_t end = std::min(words.find(',', at), words.size());
    const std::string one = words.substr(at, end - at);
    const auto place = std::ranges::find(labels, one);
    if (place == labels.end())
      fail("filter {}: '{}' is not one of its labels: {}{}", form, one, fmt::join(labels, " "),
           did_you_mean(one, labels));
    if (const auto l = static_cast<size_t>(place - labels.begin()); std::ranges::find(found, l) == found.end())
      found.push_back(l);
    at = end + 1;
  }
  return found;
}

}  // namespace

FilterMaker language_filter(const std::string& arguments) {
  const bool minimum = arguments.find(':') != arguments.npos;
  const std::vector<std::string> a = filter_arguments(minimum ? arguments : arguments + ":0.5", 2, kLanguageForm);
  const double p = probability_argument(a[1], kLanguageForm);
  const std::shared_ptr<const NgramClassifier> model = not_owned(shipped_languages());
  const std::vector<size_t> wanted = find_labels(a[0], model->labels(), kLanguageForm);
  return [=] { return std::make_unique<LabelFilter>(model, wanted, p, "language"); };
}

FilterMaker label_filter(const std::string& arguments) {
  const std::vector<std::string> a = filter_arguments(arguments, 3, kLabelForm);
  const double p = probability_argument(a[2], kLabelForm);
  const auto model = std::make_shared<const NgramClassifier>(NgramClassifier::load(a[0]));
  const std::vector<size_t> wanted = find_labels(a[1], model->labels(), kLabelForm);
  return [=] { return std::make_unique<LabelFilter>(model, wanted, p, "label"); };
}

}  // namespace quern::corpus
