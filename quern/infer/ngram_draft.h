// Guesses how a text goes on by where its last words stood before (prompt lookup): the longest suffix of 4, 3 or 2
// tokens that prompt or answer already have, continued as it went on there. A source that goes on being right stays
// the source, so that a copied passage is followed to its end. One table a length, from hash to the latest place:
// O(1) a token; a hash that lies is found out by comparing the tokens.
//
// How far a guess reaches is a bet. With p the share of its kind's late guesses that came true, the k-th token of a
// draft is used with probability p^k; it is worth a row of a step while that is more than the row's price. A kind
// (by the length of its suffix) that is no longer worth one row is silent, and asks again with one token after a
// wait: of 4 chances where the last draft was right at least in part, else doubled by every draft that was wrong from
// its first token on, 8, 16 … 1024. Text that repeats nothing costs next to nothing.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace quern {

class NgramDraft {
 public:
  static constexpr int64_t kMost = 16;  // tokens of one draft

  explicit NgramDraft(int64_t most);  // tokens of one draft; Error outside 1 … kMost

  // What may come behind `tokens`, which begin as they did in the last call: at most `room`, perhaps nothing.
  // price: of one more row in a step, as a share of a step without it.
  std::vector<int32_t> next(std::span<const int32_t> tokens, int64_t room, double price);
  // So many tokens of the last draft, which was not empty, came true.
  void judged(int64_t drafted, int64_t accepted);

 private:
  static constexpr int64_t kShortest = 2, kLongest = 4;
  struct Kind {  // of drafts: by the length of the suffix, the last for sources that were right before
    double right = 1, wrong = 1;     // tokens, the late ones weighing more
    int64_t wait = 0, patience = 4;  // chances since it was last heard, and how many it then lets pass
  };
  void read(std::span<const int32_t> tokens);
  int64_t length_for(Kind& kind, double price) const;

  int64_t most_;
  std::array<std::unordered_map<uint64_t, int64_t>, kLongest - kShortest + 1> after_;  // hash → what came behind
  int64_t read_ = 0;
  int64_t source_ = -1;  // position of the token that came behind the suffix before; −1: none
  size_t kind_ = 0;      // of the source
  std::array<Kind, kLongest - kShortest + 2> kinds_;
};

}  // namespace quern
