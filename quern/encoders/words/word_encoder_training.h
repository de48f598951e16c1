// Trains a WordEncoder on pairs of texts that belong together, by contrast: in a batch every text has to find its partner
// among the partners of all others, in both directions (InfoNCE). AdaGrad, one accumulator a number. Deterministic by seed on one
// machine. Cost: 6 · batch² · width flops a batch, and the rows of its words.
//
//   loss = −½ mean_i [ log softmax_j(a_i·b_j / T)_i + log softmax_j(b_i·a_j / T)_i ]
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/encoders/words/word_encoder.h"

namespace quern::encoders {

struct WordEncoderTraining {
  int64_t rows = 16000, width = 96;
  int64_t batch = 512;
  int64_t together = 256;  // pairs of one group that lie in a batch: partners of others that are hard to tell apart
  int64_t passes = 6;
  double rate = 0.1, temperature = 0.06;
  uint64_t seed = 1;
};

class WordEncoderTrainer {
 public:
  explicit WordEncoderTrainer(const WordEncoderTraining& t) : t_(t) {}
  // group: of pairs that are alike, such as those of one package.
  void add(std::string_view first, std::string_view second, std::string_view group = {});
  int64_t pairs() const { return static_cast<int64_t>(begin_.size()) / 2; }
  struct Progress {
    int64_t done, all;
    double loss;  // mean of the last hundred batches
  };
  WordEncoder train(const std::function<void(const Progress&)>& progress = {});

 private:
  void add_text(std::string_view text);
  WordEncoderTraining t_;
  uint32_t number(std::string_view word);
  static constexpr uint32_t kDropped = recall::KeyMap::kNone - 1;  // a stop word
  recall::KeyMap as_written_;                                      // words to the numbers of their stems
  recall::KeyMap stems_;
  std::vector<std::string> words_;                     // stems, by number
  std::vector<uint64_t> texts_with_;                   // of each stem
  std::vector<uint32_t> in_texts_;                     // stems of all texts, each once a text
  std::vector<uint64_t> begin_;                        // of each text
  std::vector<uint32_t> groups_;                       // of each pair
  std::unordered_map<std::string, uint32_t> numbers_;  // of groups
};

}  // namespace quern::encoders
