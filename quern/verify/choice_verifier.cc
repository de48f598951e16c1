// "choice": {"choices": [texts], "answer": letter or text}. A reply names a choice by letter ("B", "(b)", "B."), by text
// ("Paris") or by both ("B) Paris"); two different choices are wrong.
#include <algorithm>
#include <optional>
#include <set>

#include "quern/verify/answer_text.h"
#include "quern/verify/expectation.h"
#include "quern/verify/plain_text.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

constexpr size_t kMaxChoices = 26, kMaxAnswer = 4096;

class ChoiceVerifier : public Verifier {
 public:
  explicit ChoiceVerifier(const Json& e) {
    for (const std::string& c : texts_field(e, "choices")) choices_.push_back(plain(c));
    if (choices_.size() < 2 || choices_.size() > kMaxChoices)
      fail("field 'choices': expected 2 to {} texts, found {}", kMaxChoices, choices_.size());
    if (std::set<std::string>(choices_.begin(), choices_.end()).size() < choices_.size())
      fail("field 'choices': two of the choices are the same text");
    const std::string& answer = text_field(e, "answer");
    const auto right = read_one(answer);
    if (!right) fail("field 'answer': '{}' is neither a letter nor the text of a choice", answer);
    right_ = *right;
  }

  Verdict judge(std::string_view reply) const override {
    const auto [found, claim] = stated_answers(reply);
    if (found.empty()) return {0, "no answer"};
    if (found.size() > kMaxAnswer) return {0, "the answer is too long for a choice"};
    for (const std::string& text : {found, claim})
      if (const auto one = read_one(text)) return verdict(*one);
    std::set<size_t> named;
    std::string rest = found;
    for (std::string_view word : {" or ", " and ", ",", ";", "/", "\n"})
      for (size_t at = 0; (at = rest.find(word, at)) != rest.npos;) rest.replace(at, word.size(), "\x01");
    for (size_t from = 0; from <= rest.size();) {
      const size_t end = std::min(rest.find('\x01', from), rest.size());
      const std::string_view piece = bare_answer(std::string_view(rest).substr(from, end - from));
      from = end + 1;
      if (piece.empty()) continue;
      const auto one = read_one(piece);
      if (!one) return {0, "the answer is not one of the choices"};
      named.insert(*one);
    }
    if (named.size() == 1) return verdict(*named.begin());
    if (named.empty()) return {0, "no answer"};
    return {0, fmt::format("{} different choices at once", named.size())};
  }

 private:
  static std::string plain(std::string_view text) {
    return plain_text(bare_answer(text), {.letter_case = Letters::ignored, .space = Space::collapsed});
  }

  // As plain text too, but without commands of LaTeX, quotes around all and an exclamation mark behind: \textbf{(B)}\ x.
  static std::string unadorned(std::string s) {
    for (std::string_view command : {"\\textbf{", "\\text{", "\\mathrm{", "\\mathbf{", "\\textrm{", "\\mbox{"})
      for (size_t at; (at = s.find(command)) != s.npos;) {
        const auto close = closing_brace(s, at + command.size());
        if (!close) return s;
        s.erase(*close, 1), s.erase(at, command.size());
      }
    for (std::string_view blank : {"\\ ", "\\,", "\\;", "\\quad", "~"})
      for (size_t at; (at = s.find(blank)) != s.npos;) s.replace(at, blank.size(), " ");
    s = plain(s);
    if (s.ends_with('!')) s = plain(std::string_view(s).substr(0, s.size() - 1));
    for (const auto& [open, close] :
         {std::pair<std::string_view, std::string_view>{"\"", "\""}, {"'", "'"}, {"“", "”"}})
      if (s.size() > open.size() + close.size() && s.starts_with(open) && s.ends_with(close))
        s = plain(std::string_view(s).substr(open.size(), s.size() - open.size() - close.size()));
    return s;
  }

  Verdict verdict(size_t choice) const {
    if (choice == right_) return {1, "the right choice"};
    return {0, fmt::format("expected choice {}, found {}", letter(right_), letter(choice))};
  }
  static char letter(size_t choice) { return static_cast<char>('A' + choice); }

  // The letter at the beginning, and what follows it and its brackets. "a day" begins with a word, not with a letter.
  struct Labeled {
    size_t choice;
    std::string rest;
  };
  std::optional<Labeled> labeled(std::string_view s) const {
    const bool bracket = s.starts_with('(') || s.starts_with('[');
    if (bracket) s.remove_prefix(1);
    if (s.empty()) return {};
    const char c = s[0];
    const size_t choice = static_cast<size_t>(c >= 'a' ? c - 'a' : c - 'A');
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (!is_letter || choice >= choices_.size()) return {};
    s.remove_prefix(1);
    if (s.empty() && !bracket) return Labeled{choice, ""};
    if (!s.empty() && std::string_view(bracket ? ")]" : ").:").find(s[0]) != std::string_view::npos)
      s.remove_prefix(1);
    else if (bracket || s.empty())
      return {};
    else if (s[0] != ' ')
      return {};
    if (bracket && s.starts_with(':')) s.remove_prefix(1);
    return Labeled{choice, std::string(trimmed(s))};
  }

  std::optional<size_t> by_text(const std::string& s) const {
    const auto at = std::ranges::find(choices_, s);
    return at == choices_.end() ? std::nullopt : std::optional(static_cast<size_t>(at - choices_.begin()));
  }

  std::optional<size_t> read_one(std::string_view text) const {
    std::string s = plain(text);
    if (const auto t = by_text(s)) return t;
    s = unadorned(s);
    if (const auto t = by_text(s)) return t;
    for (std::string_view word : {"option ", "choice ", "answer "})
      if (s.starts_with(word)) s = s.substr(word.size());
    const auto l = labeled(s);
    if (!l) return {};
    if (l->rest.empty() || is_text_of(l->choice, l->rest)) return l->choice;
    return {};
  }

  // Of what follows a letter: "Paris", "- Paris", "(Paris)".
  bool is_text_of(size_t choice, std::string_view s) const {
    if (plain(s) == choices_[choice]) return true;
    for (std::string_view dash : {"- ", "– ", "— "})
      if (s.starts_with(dash)) return plain(s.substr(dash.size())) == choices_[choice];
    return s.size() > 2 && s.starts_with('(') && s.ends_with(')') &&
           plain(s.substr(1, s.size() - 2)) == choices_[choice];
  }

  std::vector<std::string> choices_ = {};
  size_t right_ = 0;
};

}  // namespace

std::unique_ptr<const Verifier> make_choice(const Json& expectation) {
  check_fields(expectation, {"choices", "answer"});
  return std::make_unique<ChoiceVerifier>(expectation);
}

}  // namespace quern::verify
