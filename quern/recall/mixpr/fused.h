// Fused ranking, for questions of any kind: BM25 (and vectors, where passages have them) finds the candidates, and
// evidence of several kinds is added.
//
//   score = bm25 / best bm25 + heading · likeness⁸ + phrase · adjacency + walk · support · (1 − best likeness²)
//           + meaning · cosine / best cosine
//
//   likeness   cosine of the question and the passage's own heading, words weighted by inverse document frequency (IDF)
//   adjacency  the share of the question's pairs of neighboring words that the heading or the passage has too, by IDF
//   support    what a random walk from the best by BM25 brings to a passage from the others, over the largest: also to
//              passages that share no word with the question
//   cosine     of the vectors of question and passage, not below 0
//
// The eighth power leaves headings that say the same and little of those that share a word; a question that is a
// heading needs no walk. Each further passage of one section counts a fifth less, so that a section that says
// everything does not hide the others. Without headings, pairs and a graph the order is that of BM25. The weights were
// chosen on documentation (docs/log/2026-11-25-recall-ordinary-text.md). Cost: BM25, the words of the candidates, and a
// walk of bounded length.
#pragma once
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "quern/recall/mixpr/mixpr.h"

namespace quern::recall {

struct FusedOptions {
  size_t candidates = 100;  // or 2 k, if that is more
  size_t seeds = 50;        // of them, where the walk restarts
  double heading = 0.2, phrase = 0.05, walk = 0.1, meaning = 0.4;
  double min_cosine = 0;  // of passages that vectors alone find
  // Distinct words of a question from which `meaning` counts in full; a shorter one has its share of it.
  double meaning_words = 0;
  double repeated = 0.8;  // factor of each further passage of a section
  double alpha = 0.5;     // restart probability of the walk
  double epsilon = 1e-4;  // of its push
};

struct FusedText {
  std::string_view text, heading;  // heading: the lowest one above the passage, "" without one
  uint64_t section = 0;            // the same for passages of one section; 0: of none
};
// One of several indices that are searched as one, and what its rows say.
struct FusedPart {
  RecallView view;
  std::function<FusedText(uint32_t row)> read;
  std::span<const float> cosines = {};  // of its rows with the question; empty: no vectors
};
struct FusedRow {
  size_t part;
  uint32_t row;
  double score;
};

// The k best, best first; ties to the earlier part and row. Empty when no word of the question is in the index and
// there are no vectors.
std::vector<FusedRow> rank_fused(std::span<const FusedPart> parts, std::string_view question, size_t k,
                                 const FusedOptions& options = {});

}  // namespace quern::recall
