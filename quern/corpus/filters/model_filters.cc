// Model-based filters: fasttext:MODEL:LABEL:MIN keeps a document if the probability of LABEL (with or without
// __label__) is at least MIN; classifier:MODEL:MIN keeps it if a classifier trained here gives "good" at least MIN.
#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/corpus/filters/fasttext.h"
#include "quern/corpus/filters/filter_arguments.h"
#include "quern/corpus/filters/filter_makers.h"
#include "quern/corpus/filters/linear_classifier.h"

namespace quern::corpus {
namespace {

class FastTextFilter : public DocumentFilter {
 public:
  FastTextFilter(FastText model, size_t label, double minimum, std::shared_ptr<const std::string> rule)
      : model_(std::move(model)), label_(label), minimum_(minimum), rule_(std::move(rule)), names_{rule_->c_str()} {}
  std::span<const char* const> rules() const override { return names_; }
  FilterResult apply(std::string_view utf8) override {
    FilterResult j;
    j.text = utf8;
    const std::vector<float> p = model_.predict(utf8);
    j.failing = p.empty() || static_cast<double>(p[label_]) < minimum_;
    return j;
  }

 private:
  FastText model_;
  size_t label_;
  double minimum_;
  std::shared_ptr<const std::string> rule_;
  const char* names_[1];
};

class ClassifierFilter : public DocumentFilter {
 public:
  ClassifierFilter(std::shared_ptr<const LinearClassifier> model, double minimum)
      : model_(std::move(model)), minimum_(minimum) {}
  std::span<const char* const> rules() const override { return kNames; }
  FilterResult apply(std::string_view utf8) override {
    FilterResult j;
    j.text = utf8;
    j.failing = model_->probability(features_.make(utf8)) < minimum_;
    return j;
  }

 private:
  static constexpr const char* kNames[] = {"classifier"};
  std::shared_ptr<const LinearClassifier> model_;
  double minimum_;
  FeatureMaker features_;
};

}  // namespace

FilterMaker fasttext_filter(const std::string& arguments) {
  constexpr const char* kForm = "fasttext:MODEL:LABEL:MIN";
  const std::vector<std::string> a = filter_arguments(arguments, 3, kForm);
  const double minimum = probability_argument(a[2], kForm);
  const FastText model = FastText::load(a[0]);
  const std::vector<std::string>& labels = model.labels();
  size_t at = 0;
  while (at < labels.size() && labels[at] != a[1] && labels[at] != "__label__" + a[1]) ++at;
  if (at == labels.size()) fail("{} has no label '{}'{}", a[0], a[1], did_you_mean("__label__" + a[1], labels));
  const auto rule = std::make_shared<const std::string>(fmt::format("fasttext_{}<{}", a[1], a[2]));
  return [=] { return std::make_unique<FastTextFilter>(model, at, minimum, rule); };
}

FilterMaker classifier_filter(const std::string& arguments) {
  constexpr const char* kForm = "classifier:MODEL:MIN";
  const std::vector<std::string> a = filter_arguments(arguments, 2, kForm);
  const double minimum = probability_argument(a[1], kForm);
  const auto model = std::make_shared<const LinearClassifier>(LinearClassifier::load(a[0]));
  return [=] { return std::make_unique<ClassifierFilter>(model, minimum); };
}

}  // namespace quern::corpus
