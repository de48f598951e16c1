// A linear text classifier that users train on good and bad examples: logistic regression over hashed words and word
// pairs (text normalizer slimpajama), each text's counts scaled to length 1. Training is AdaGrad over shuffled passes,
// single-threaded and deterministic; every tenth text of each class is held out to measure accuracy. A model is 2^18
// weights, one megabyte. Training memory: 8 bytes per distinct word or pair of a text.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/corpus/text/text_normalizer.h"

namespace quern::corpus {

using TextFeatures = std::vector<std::pair<uint32_t, float>>;  // ascending, no repeats

class FeatureMaker {
 public:
  static constexpr int kBits = 18;
  const TextFeatures& make(std::string_view utf8);  // valid until the next call

 private:
  Tokens tokens_;
  std::string scratch_;
  std::vector<uint32_t> hashes_;
  TextFeatures features_;
};

struct ClassifierTraining {
  int passes = 5;
  double rate = 0.3, decay = 1e-6;
  uint64_t seed = 1;
};
struct ClassifierReport {
  uint64_t good = 0, bad = 0, held_out_good = 0, held_out_bad = 0;
  double accuracy = 0;  // of held-out texts, at 0.5
  double auc = 0;       // chance that a good one scores above a bad one
};

class LinearClassifier {
 public:
  static LinearClassifier train(const std::vector<TextFeatures>& good, const std::vector<TextFeatures>& bad,
                                const ClassifierTraining& t, ClassifierReport& report);
  static LinearClassifier load(const std::filesystem::path& file);
  void save(const std::filesystem::path& file) const;
  double probability(const TextFeatures& f) const;  // that the text is good

 private:
  float bias_ = 0;
  std::vector<float> weights_ = std::vector<float>(size_t{1} << FeatureMaker::kBits);
};

}  // namespace quern::corpus
