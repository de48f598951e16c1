// English function words, in a table over their keys: at most one string comparison per word.
#include <array>

#include "quern/recall/words/tokens.h"

namespace quern::recall {
namespace {

constexpr std::string_view kStopwords[] = {
    "a",     "about",   "after", "again", "all",   "am",      "an",    "and",  "any",   "are",   "as",     "at",
    "be",    "because", "been",  "being", "both",  "but",     "by",    "can",  "could", "d",     "did",    "do",
    "does",  "doing",   "don",   "each",  "few",   "for",     "from",  "had",  "has",   "have",  "having", "he",
    "her",   "here",    "hers",  "him",   "his",   "how",     "i",     "if",   "in",    "into",  "is",     "it",
    "its",   "just",    "ll",    "m",     "me",    "more",    "most",  "my",   "no",    "nor",   "not",    "now",
    "of",    "on",      "only",  "or",    "other", "our",     "ours",  "out",  "own",   "re",    "s",      "same",
    "she",   "should",  "so",    "some",  "such",  "t",       "than",  "that", "the",   "their", "them",   "then",
    "there", "these",   "they",  "this",  "those", "through", "to",    "too",  "us",    "ve",    "very",   "was",
    "we",    "were",    "what",  "when",  "where", "which",   "while", "who",  "whom",  "why",   "will",   "with",
    "would", "you",     "your",  "yours"};

constexpr size_t kSlots = 1024;  // a hundred words: most slots are free

struct Table {
  std::array<std::string_view, kSlots> slots{};
  Table() {
    for (const std::string_view w : kStopwords) {
      size_t at = word_key(w) % kSlots;
      while (!slots[at].empty()) at = (at + 1) % kSlots;
      slots[at] = w;
    }
  }
};

}  // namespace

bool is_stopword(std::string_view lower) {
  static const Table table;
  for (size_t at = word_key(lower) % kSlots; !table.slots[at].empty(); at = (at + 1) % kSlots)
    if (table.slots[at] == lower) return true;
  return false;
}

}  // namespace quern::recall
