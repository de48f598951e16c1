// JSON as grammar rules, for grammars of documents: white space (none, one blank, or a new line with up to twenty
// blanks), strings, numbers, any value.
#pragma once
#include <set>
#include <string>
#include <string_view>

#include "quern/text/grammar/grammar.h"

namespace quern::text {

class JsonGrammar {
 public:
  explicit JsonGrammar(GrammarBuilder& b) : b_(b) {}
  GrammarItem any();
  GrammarItem character();  // of a string: itself, or an escape; no half surrogates
  GrammarItem quoted(GrammarItem inside);
  GrammarItem number();
  GrammarItem integer();
  GrammarItem integer(int64_t low, int64_t high);
  GrammarItem space();
  GrammarItem comma();
  GrammarItem colon();
  GrammarBuilder::Sequence opening(char bracket);
  GrammarItem closing(char bracket);
  GrammarItem other_key(const std::set<std::string>& names);  // a key that is none of them

 private:
  GrammarItem digits(std::string_view low, std::string_view high);  // numbers of equal length
  GrammarItem digit(char from, char to);
  // Whole numbers from low to high behind the sign ("-" or nothing).
  void up_to(uint64_t low, uint64_t high, std::string_view sign, std::vector<GrammarBuilder::Sequence>& out);
  GrammarBuilder& b_;
  GrammarItem any_{}, space_{}, character_{}, comma_{}, colon_{}, number_{}, integer_{};
};

// The regular expression of a string format; empty when there is none.
std::string_view format_pattern(std::string_view format);

}  // namespace quern::text
