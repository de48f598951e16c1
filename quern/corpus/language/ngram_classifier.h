// A text classifier over hashed character n-grams, small and fast enough for every document of a crawl:
//   x = mean over the n-grams g of  rows[hash(g)]      one row of `width` numbers for each of 2^bits buckets
//   p = softmax(W x + b)
// N-grams are of the symbols of letters.h, of every order in `orders`, at every position. The rows are int8 with one
// scale; W and b are floats. Cost: about 2 ns per n-gram. A model of 2^15 rows of 32 is 1.06 MB.
// Shapes: rows [2^bits, width], W [labels, width], b [labels].
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::corpus {

struct NgramShape {
  int bits = 15, width = 32;
  std::vector<int> orders = {2, 3, 4};
  template <class V>
  void visit(V& v) {
    v("bits", bits), v("width", width), v("orders", orders);
  }
};

constexpr int kMaxNgram = 4;  // symbols of 16 bits in one word

// The buckets of all n-grams of a text replace `out`, one order after the other.
void ngram_buckets(std::span<const uint16_t> letters, const NgramShape& shape, std::vector<uint32_t>& out);

class NgramClassifier {
 public:
  struct Scratch {
    std::vector<uint16_t> letters;
    std::vector<uint32_t> buckets;
    std::vector<float> scores;
  };
  struct Answer {
    int label = -1;  // -1: a text without letters
    float probability = 0;
  };

  static NgramClassifier load(const std::filesystem::path& file);
  static NgramClassifier parse(std::string_view bytes, const std::string& name);
  std::string bytes() const;
  const std::vector<std::string>& labels() const { return labels_; }
  const NgramShape& shape() const { return shape_; }
  Answer classify(std::string_view utf8, Scratch& scratch) const;  // scratch.scores: all probabilities

 private:
  friend class NgramTrainer;
  void set_columns();
  NgramShape shape_;
  std::vector<std::string> labels_;
  float scale_ = 1;
  std::vector<int8_t> rows_;
  std::vector<float> weights_, bias_;
  std::vector<float> columns_;  // the weights, [width, labels]
};

}  // namespace quern::corpus
