// Supervised fastText models (.bin and quantised .ftz, as written by fastText 0.9): read and asked for the label of a
// text. The features of a text are its words, their character n-grams and n-grams of words by FNV-1a hashes; the mean
// of their rows times the output rows gives scores; softmax, hierarchical softmax, and one against all are known.
// Line feeds count as spaces. Everything in the file is checked before it is used. Cost: one row a feature.
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
