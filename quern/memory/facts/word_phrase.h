// Phrases over the words of a text, in lower case and without accents: "bin * nach * gezogen".
//
//   word      that word           ich- begins with it           a/b one of them
//   *         none to six words  <in> a preposition of a place  @ the one it is about
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quern::memory {

using FoldedWords = std::vector<std::string>;

FoldedWords folded_words(std::string_view text);
// A name, or its genitive ("Adas"), becomes "@". Returns whether it was there.
bool mark_name(FoldedWords& words, std::string_view name);

class WordPhrase {
 public:
  explicit WordPhrase(std::string_view phrase);
  bool at(const FoldedWords& words, size_t begin) const { return from(words, begin, 0); }
  bool in(const FoldedWords& words, size_t max_begin = SIZE_MAX) const;  // beginning there or before it
  std::string plain_words() const;                                       // that stand in it whole
  bool names() const;                                                    // has a "@"

 private:
  struct PhraseWord {
    std::string letters;
    bool prefix;
  };
  struct PhraseElement {
    bool gap = false;
    std::vector<PhraseWord> words;  // one of them
    bool fits(const std::string& word) const;
  };
  bool from(const FoldedWords& words, size_t i, size_t element) const;
  std::vector<PhraseElement> elements_;
};

// Of a list parted by '|'.
std::vector<WordPhrase> word_phrases(std::string_view list);
bool any_in(std::span<const WordPhrase> phrases, const FoldedWords& words, size_t max_begin = SIZE_MAX);

}  // namespace quern::memory
