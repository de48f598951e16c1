// Trains an NgramClassifier: stochastic gradient descent on the cross entropy of random pieces of the texts, every label
// drawn equally often. The rows have one AdaGrad accumulator each. Single-threaded and deterministic. The rows are
// rounded to int8 at the end, with the scale that 1 in 10,000 numbers exceeds.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/corpus/language/ngram_classifier.h"

namespace quern::corpus {

struct NgramTraining {
  NgramShape shape;
  int passes = 10;
  int64_t pieces = 4000;              // of a label, in one pass
  int shortest = 25, longest = 1000;  // letters of a piece; its length is drawn evenly on a logarithmic scale
  double rate = 5;
  uint64_t seed = 1;
};

class NgramTrainer {
 public:
  explicit NgramTrainer(const NgramTraining& t) : t_(t) {}
  void add(std::string_view utf8, const std::string& label);
  // With the labels that have at least `least` texts. progress(steps done, steps in all).
  NgramClassifier train(size_t least = 1, const std::function<void(uint64_t, uint64_t)>& progress = {});
  const std::vector<std::string>& left_out() const { return left_out_; }  // labels with fewer

 private:
  struct Label {
    std::string name;
    std::vector<uint16_t> letters;  // of all texts
    std::vector<uint64_t> begin;    // of each
  };
  Label& label(const std::string& name);

  NgramTraining t_;
  std::vector<Label> labels_;
  std::vector<uint16_t> scratch_;
  std::vector<std::string> left_out_;
};

}  // namespace quern::corpus
