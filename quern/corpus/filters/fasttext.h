// Supervised fastText models (.bin and quantized .ftz, as written by fastText 0.9): loads them and predicts the
// probability of a text's label. The features are words, character n-grams and word n-grams by FNV-1a hashes; the mean
// of their rows times the output rows gives scores, for softmax, hierarchical softmax and one-vs-all losses. Line
// feeds count as spaces. Everything in the file is checked before use. Cost: one row per feature.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quern::corpus {

class FastText {
 public:
  static FastText load(const std::filesystem::path& file);  // throws Error naming the file and what was expected
  static FastText from_bytes(std::string_view bytes, const std::string& name);
  const std::vector<std::string>& labels() const;
  // Probabilities of all labels, in the order of labels(); empty when the text has no known feature.
  std::vector<float> predict(std::string_view utf8) const;
  // The likeliest label; −1 when there is none.
  int best(std::string_view utf8, float& probability) const;

  struct Model;

 private:
  std::shared_ptr<const Model> m_;
};

}  // namespace quern::corpus
