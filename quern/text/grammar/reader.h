// What the GBNF and regular expression parsers share: a position in the text, errors that name it, repetitions, and
// characters written as numbers.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "quern/base/error.h"
#include "quern/text/grammar/grammar.h"

namespace quern::text {

class GrammarReader {
 protected:
  using Sequence = GrammarBuilder::Sequence;
  static constexpr int kMaxNested = 200;

  // `what` begins every complaint; the text must be UTF-8.
  GrammarReader(GrammarBuilder& b, std::string_view what, std::string_view text);

  template <class... A>
  [[noreturn]] void refuse(fmt::format_string<A...> f, A&&... a) const {
    refuse_text(fmt::format(f, std::forward<A>(a)...));
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool more() const { return at_ < text_.size(); }
  bool at_range() const { return peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']'; }  // a-z in a set

  struct Repetition {
    int64_t minimum = 0, maximum = -1;  // -1: any number
    size_t from = 0;                    // where it is written
  };
  std::optional<Repetition> repetition();  // *, +, ?, {m}, {m,} or {m,n}, if that is next
  GrammarItem repeat(GrammarItem item, const Repetition& r);
  char32_t hexadecimal(int digits);  // a character by its number

  GrammarBuilder& b_;
  std::string_view what_, text_;
  size_t at_ = 0;

 private:
  [[noreturn]] void refuse_text(const std::string& why) const;
  int64_t number();
};

}  // namespace quern::text
