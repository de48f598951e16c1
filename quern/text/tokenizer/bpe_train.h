// Trains a byte-level BPE tokenizer, with the choices of `tokenizers`: the 256 byte characters are the alphabet, the
// most frequent adjacent pair of ids is merged next, and of equally frequent pairs the one with the lower ids. Words
// are split from text by the GPT-2 pattern (optionally each digit separately first). Deterministic in the order of the
// input. Cost: one pass over the distinct words, then O(occurrences · log) per merge.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace quern::text {

struct BpeTrainOptions {
  int64_t vocab_size = 32000;               // special tokens and the alphabet included
  int64_t min_frequency = 0;                // pairs rarer than this are never merged
  std::vector<std::string> special_tokens;  // get the first ids
  std::string bos_token;           // put in front of every text by the post-processor; one of the special tokens
  bool individual_digits = false;  // every digit is a piece of its own
};

class BpeTrainer {
 public:
  explicit BpeTrainer(BpeTrainOptions options);
  void add(std::string_view text);  // valid UTF-8; words of successive calls never join
  // The tokenizer.json; merges are also what `tokenizers` would learn from the same pieces.
  std::string train() const;

 private:
  BpeTrainOptions o_;
  std::unordered_map<std::string, int64_t> count_;
  std::vector<std::string> order_;  // words in the order they were first seen
};

}  // namespace quern::text
