#include "quern/corpus/language/label_report.h"

#include <algorithm>
#include <vector>

namespace quern::corpus {
namespace {

constexpr size_t kShownMistakes = 20;

}  // namespace

void LabelReport::add(const std::string& known, const std::string& answer) {
  const bool same = known == answer;
  ++labels_[known].texts, ++labels_[answer].answered, ++texts_;
  labels_[known].right += same, right_ += same;
  if (!same) ++mistakes_[{known, answer}];
}

double LabelReport::accuracy() const {
  return texts_ == 0 ? 0 : static_cast<double>(right_) / static_cast<double>(texts_);
}

double LabelReport::macro_f1() const {
  double sum = 0, n = 0;
  for (const auto& [name, c] : labels_)
    if (c.texts > 0) sum += c.f1(), ++n;
  return n == 0 ? 0 : sum / n;
}

Json LabelReport::json() const {
  const auto whole = [](uint64_t n) { return Json(static_cast<int64_t>(n)); };
  Json j = Json::object(), list = Json::array(), wrong = Json::array();
  j.set("texts", whole(texts_)), j.set("accuracy", accuracy()), j.set("macro_f1", macro_f1());
  for (const auto& [name, c] : labels_) {
    Json one = Json::object();
    one.set("label", name), one.set("texts", whole(c.texts)), one.set("answered", whole(c.answered));
    one.set("right", whole(c.right)), one.set("f1", c.f1());
    list.push(std::move(one));
  }
  std::vector<std::pair<std::pair<std::string, std::string>, uint64_t>> most(mistakes_.begin(), mistakes_.end());
  std::ranges::stable_sort(most, [](const auto& a, const auto& b) { return a.second > b.second; });
  most.resize(std::min(most.size(), kShownMistakes));
  for (const auto& [pair, n] : most) {
    Json one = Json::object();
    one.set("label", pair.first), one.set("answer", pair.second), one.set("texts", whole(n));
    wrong.push(std::move(one));
  }
  j.set("labels", std::move(list)), j.set("mistakes", std::move(wrong));
  return j;
}

}  // namespace quern::corpus
