// Tables that put the words of one language into English. A language is three texts:
//   words   "vorgestern = the day before yesterday": the longest phrase that stands there is replaced; several spellings
//           are separated by |. Marks, which end in ~, are English words whose place or sense is not settled yet.
//   orders  "vor~ # @u = $2 $3 ago": rules over English words, in their order. # is a count, @u a unit, @w a weekday, @m a
//           month, @s a session, @p a part of the day, @o an ordinal, @y a year, @d digits, @x any unit, day, month,
//           season, part or session, @t+ a run of words of time; $N is what the N-th element found.
//   rest    "vor~ = before": what becomes of marks that no rule used.
// Spellings in tables are in lower case and without accents, as the words of a question are before they are looked up.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace quern::memory {

struct WordPiece {
  std::string word;    // English, a mark, or as it was written
  std::string before;  // what stands between it and the piece in front
  bool known = false;  // a table had it
};

struct WordingTexts {
  std::string_view words, orders, rest;
};

class WordingTable {
 public:
  explicit WordingTable(const WordingTexts& texts);
  // Of each word, folded (see above); its spelling stays where no phrase has it.
  std::vector<WordPiece> translate(const std::vector<WordPiece>& words, const std::vector<std::string>& folded) const;
  size_t known(const std::vector<std::string>& folded) const;  // how many of them some phrase has
  bool has(const std::string& folded) const { return phrases_.contains(folded); }
  // The one word of time that is a slip away from a word that no entry begins with; empty when there is none or several.
  std::string mended(const std::string& folded) const;
  // The longest entry that begins at byte i of the text: for scripts without spaces.
  size_t longest_at(std::string_view text, size_t i) const;

 private:
  struct Phrase {
    std::vector<std::string> source, english;
  };
  struct Rule {
    std::vector<std::string> pattern, result;
  };
  void reorder(std::vector<WordPiece>& pieces) const;
  bool apply(const Rule& rule, std::vector<WordPiece>& pieces, size_t at) const;
  std::vector<std::pair<std::string, std::vector<std::string>>> timely_;  // words of time, and their English
  std::unordered_map<std::string, std::vector<Phrase>> phrases_;          // by their first word, the longest first
  std::vector<Rule> rules_;
  std::unordered_map<std::string, std::vector<std::string>> rest_;
  size_t longest_ = 0;
};

std::string folded(std::string_view word);  // lower case, without accents; bytes of other scripts stay
const WordingTexts& german_wording();
const WordingTexts& french_wording();
const WordingTexts& spanish_wording();
const WordingTexts& chinese_wording();
// Chat spellings and slips of English, in place.
void plain_english(std::vector<WordPiece>& pieces, std::vector<std::string>& notes);

}  // namespace quern::memory
