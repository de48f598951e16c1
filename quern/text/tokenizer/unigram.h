// Unigram language model (SentencePiece): a piece of text becomes the sequence of tokens whose log probabilities have
// the largest sum (Viterbi over a byte trie). A character that no token covers costs the lowest probability less 10;
// neighboring ones become one unknown token. Cost: one trie walk per character.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/text/tokenizer/vocab.h"

namespace quern::text {

struct UnigramScratch {
  struct Node {
    int32_t id;
    uint32_t begin;
    double score;
  };
  std::vector<Node> best;
  std::vector<uint32_t> ends;
};

class Unigram {
 public:
  std::vector<double> scores;  // by id
  int64_t unk_id = -1;         // -1: none
  bool byte_fallback = false;

  void finish(const Vocab& v);  // after the last change
  void encode(const Vocab& v, std::string_view piece, UnigramScratch& s, std::vector<int32_t>& out) const;

 private:
  struct Slot {
    uint64_t edge = ~uint64_t{0};  // node << 8 | byte
    uint32_t node = 0;
  };
  uint32_t child(uint32_t node, unsigned char byte) const;  // 0: none
  uint32_t child_or_new(uint32_t node, unsigned char byte);
  void grow();
  void unknown(const Vocab& v, std::string_view text, std::vector<int32_t>& out) const;

  std::vector<Slot> slots_;
  std::vector<int32_t> ids_;  // of nodes; -1: no token ends there
  double unk_score_ = 0;
  int32_t byte_id_[256] = {};
};

}  // namespace quern::text
