// Tables that put the words of one language into English. A language is three texts:
//   words   "vorgestern = the day before yesterday": the longest phrase that stands there is replaced; several spellings
//           are separated by |. Marks, which end in ~, are English words whose place or sense is not settled yet.
//   orders  "vor~ # @u = $2 $3 ago": rules over English words, in their order. # is a count, @u a unit, @w a weekday, @m a
//           month, @s a session, @p a part of the day, @o an ordinal, @y a year, @d digits, @x any unit, day, month,
//           season, part, session or holiday, @h a holiday, @c a time of day, @n a name, @t+ a run of words of time; $N is what the
//           N-th element found, $N! a holiday that no further rule takes.
//   rest    "vor~ = before": what becomes of marks that no rule used.
//   holidays "karfreitag = Good Friday": names that are one piece, @h, whatever their number of words.
// Spellings in tables are in lower case and without accents, as the words of a question are before they are looked up.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace quern::memory {

struct WordPiece {
  std::string word;    // English, a mark, or as it was written
  std::string before;  // what stands between it and the piece in front
  bool known = false;  // a table had it
  bool name = false;   // of somebody who speaks
};

struct WordingTexts {
  std::string_view words, orders, rest, holidays = {}, numbers = {}, own = {};
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
  size_t apply(const Rule& rule, std::vector<WordPiece>& pieces, size_t at) const;
  std::unordered_set<std::string> own_;                                   // never mended
  std::vector<std::pair<std::string, std::vector<std::string>>> timely_;  // words of time, and their English
  std::unordered_map<std::string, std::vector<Phrase>> phrases_;          // by their first word, the longest first
  std::vector<Rule> rules_;
  std::unordered_map<std::string, std::vector<std::string>> rest_;
  size_t longest_ = 0;
};

// Hours and minutes as their languages put them ("20 Uhr 15", "huit heures et demie", "las~ 8 menos cuarto") as one piece,
// once words are English and marks (clock_words.cc).
void clock_words(std::vector<WordPiece>& pieces);
bool is_clock_piece(std::string_view word);  // 20:15, "half past 8", "8 o'clock"
std::string folded(std::string_view word);   // lower case, without accents; bytes of other scripts stay
const WordingTexts& german_wording();
const WordingTexts& french_wording();
const WordingTexts& spanish_wording();
const WordingTexts& chinese_wording();
// Large numbers and ordinals (number_words.cc).
std::string_view german_numbers();
std::string_view french_numbers();
std::string_view spanish_numbers();
std::string_view chinese_numbers();
// Words of their own that a slip of one of time resembles (own_words.cc).
std::string_view german_own_words();
std::string_view french_own_words();
std::string_view spanish_own_words();
// Names of holidays in those languages (holiday_names.cc).
std::string_view german_holidays();
std::string_view french_holidays();
std::string_view spanish_holidays();
std::string_view chinese_holidays();
// Chat spellings and slips of English, in place.
void plain_english(std::vector<WordPiece>& pieces, std::vector<std::string>& notes);

}  // namespace quern::memory
