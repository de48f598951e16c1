// How well a classifier does on texts whose labels are known: right answers, precision, recall and F1 of every label, their
// mean over the labels (macro-F1), and what is taken for what.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "quern/base/json.h"

namespace quern::corpus {

struct LabelCounts {
  uint64_t texts = 0, answered = 0, right = 0;  // answered: texts that were given this label
  double f1() const {
    return right == 0 ? 0 : 2 * static_cast<double>(right) / static_cast<double>(texts + answered);
  }
};

class LabelReport {
 public:
  void add(const std::string& known, const std::string& answer);
  const std::map<std::string, LabelCounts>& labels() const { return labels_; }
  uint64_t texts() const { return texts_; }
  double accuracy() const;
  double macro_f1() const;  // over the labels that texts have
  Json json() const;        // with the most frequent mistakes

 private:
  std::map<std::string, LabelCounts> labels_;
  std::map<std::pair<std::string, std::string>, uint64_t> mistakes_;  // (known, answer)
  uint64_t texts_ = 0, right_ = 0;
};

}  // namespace quern::corpus
