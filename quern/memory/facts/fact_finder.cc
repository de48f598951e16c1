#include "quern/memory/facts/fact_finder.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "quern/memory/facts/fact_fields.h"
#include "quern/recall/words/tokens.h"

namespace quern::memory {
namespace {

using W = std::string_view;
constexpr W kChanged[] = {
    "now",       "these days", "from now on",    "instead",    "swapped",     "replaced",  "new",       "switched",
    "changed",   "as of",      "any more",       "anymore",    "again",       "finally",   "gave up",   "is over",
    "up to",     "down to",    "from next week", "from today", "pushed back", "postponed", "rebooked",  "moved to",
    "make that", "so that's",  "that makes",     "officially", "already",     "slipped",   "no longer", "for good",
    "left"};
constexpr W kNotSo[] = {"might",          "nearly",       "almost",     "wanted to",     "want a",    "wants a",
                        "wish",           "dreaming",     "dream",      "would",         "could",     "offered",
                        "turned it down", "said no",      "test-drove", "borrowed",      "maybe",     "thinking of",
                        "one day",        "as a student", "if i",       "for a day",     "just once", "i'd love",
                        "considering",    "tempted",      "looked at",  "rang me about", "holiday",   "spent",
                        "i tried"};
constexpr W kOthers[] = {"my brother",
                         "my sister",
                         "my cousin",
                         "my aunt",
                         "my uncle",
                         "my friend",
                         "my dad",
                         "my mum",
                         "my son",
                         "my daughter",
                         "my boss",
                         "my colleague",
                         "my flatmate",
                         "my mate",
                         "brother's",
                         "sister's",
                         "cousin's",
                         "aunt's",
                         "daughter's",
                         "son's",
                         "plumber's",
                         "dentist",
                         "someone at the office",
                         "work gave me",
                         "my wife's",
                         "my husband's",
                         "my ex"};
constexpr W kDays[] = {"monday",   "tuesday",   "wednesday",  "thursday",  "friday",   "saturday",  "sunday",
                       "mondays",  "tuesdays",  "wednesdays", "thursdays", "fridays",  "saturdays", "sundays",
                       "january",  "february",  "march",      "april",     "may",      "june",      "july",
                       "august",   "september", "october",    "november",  "december", "at nine",   "at ten",
                       "at eight", "at seven",  "at six",     "half",      "o'clock",  "noon",      "at eleven",
                       "at four",  "at five",   "at three",   "at two",    "at one"};
constexpr W kNumbers[] = {"one",    "two",    "three", "four",  "five",   "six",   "seven",  "eight", "nine", "ten",
                          "eleven", "twelve", "none",  "first", "second", "third", "fourth", "fifth", "dozen"};
constexpr double kEnough = 1.15;

std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

std::string stem(std::string_view word) {
  std::string out(word);
  recall::porter_stem(out);
  return out;
}

bool has_digit(std::string_view s, size_t least) {
  size_t n = 0;
  for (const char c : s) n += c >= '0' && c <= '9';
  return n >= least;
}

// A word with a capital that begins no sentence.
bool has_name(std::string_view text) {
  bool begins = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool upper = c >= 'A' && c <= 'Z';
    const bool initials = i + 1 < text.size() && text[i + 1] >= 'A' && text[i + 1] <= 'Z';
    if (upper && (!begins || initials) && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])))) {
      const bool alone = i + 1 >= text.size() || !std::isalpha(static_cast<unsigned char>(text[i + 1]));
      if (!alone) return true;
    }
    if (c == '.' || c == '!' || c == '?' || c == ':')
      begins = true;
    else if (c != ' ' && c != '"')
      begins = false;
  }
  return false;
}

bool has_value(FactValue kind, const std::string& text, const std::string& lower) {
  switch (kind) {
    case FactValue::any:
      return true;
    case FactValue::name:
      return has_name(text);
    case FactValue::digits:
      return has_digit(text, 4);
    case FactValue::at_sign:
      return text.find('@') != text.npos;
    case FactValue::street:
      return has_digit(text, 1) && has_name(text) && !has_digit(lower, 7);
  }
  return false;
}

class StatementFinder {
 public:
  StatementFinder(const FactQuestion& q, const TurnTable& table, const std::function<std::string(uint32_t)>& text)
      : q_(q), t_(table), text_(text) {
    for (const std::string& w : q.words) stems_.insert(stem(w));
  }

  double score(uint32_t row) const {
    const std::string text = text_(row), lower = lowered(text);
    const double share = words_there(lower);
    const bool told = q_.field && has_any_phrase(lower, q_.field->told);
    const bool changed = has_any_phrase(lower, kChanged);
    const bool value = q_.counts  ? has_any_phrase(lower, kNumbers) || has_digit(lower, 1)
                       : q_.dates ? has_any_phrase(lower, kDays) || has_digit(lower, 1)
                                  : has_value(q_.field ? q_.field->value : FactValue::any, text, lower);
    const bool strict = q_.field && (q_.field->value == FactValue::at_sign || q_.field->value == FactValue::digits ||
                                     q_.field->value == FactValue::street);
    if (strict && !value) return 0;
    double s = (told ? 0.9 : 0) + 0.9 * share + (value ? (strict ? 1.0 : 0.5) : 0) + (changed ? 0.35 : 0);
    if (changed && value && (q_.counts || q_.dates)) s += 0.4;  // "so that makes six": of what was spoken of before
    if (!told && share < 0.3 && !(changed && value && (q_.counts || q_.dates)) && !strict) return 0;
    if (q_.field && q_.field->words_matter && share == 0 && !changed) s *= 0.7;
    return s * doubt(row, lower);
  }

 private:
  double words_there(const std::string& lower) const {
    if (stems_.empty()) return 0;
    std::set<std::string> there;
    recall::for_each_word(lower, [&](size_t b, size_t e) { there.insert(stem(lower.substr(b, e - b))); });
    double n = 0;
    for (const std::string& w : stems_) n += there.contains(w) ? 1 : 0;
    return n / static_cast<double>(stems_.size());
  }

  // "My cousin moved to Cork": somebody else stands in front of what is told.
  bool of_another(std::string_view lower) const {
    size_t other = lower.npos, told = lower.npos;
    for (const W p : kOthers)
      if (has_phrase(lower, p)) other = std::min(other, lower.find(p));
    if (q_.field)
      for (const W p : q_.field->told)
        if (has_phrase(lower, p)) told = std::min(told, lower.find(p));
    return other != lower.npos && (told == lower.npos || other < told);
  }

  double doubt(uint32_t row, const std::string& lower) const {
    double d = 1;
    const bool own = !q_.speaker || t_.speaker[row] == *q_.speaker;
    if (!q_.relative.empty()) {
      const bool named = has_phrase(lower, q_.relative) || has_phrase(lower, q_.relative + "'s");
      d *= named ? (own ? 1.3 : 0.8) : own ? 0.75 : 0.3;
    } else {
      if (!own) d *= 0.35;
      if (of_another(lower)) d *= 0.45;
    }
    if (lower.ends_with('?')) d *= 0.45;
    if (has_any_phrase(lower, kNotSo)) d *= 0.5;
    return d;
  }

  const FactQuestion& q_;
  const TurnTable& t_;
  const std::function<std::string(uint32_t)>& text_;
  std::set<std::string> stems_;
};

}  // namespace

std::vector<FactStatement> find_statements(const FactQuestion& question, const TurnTable& table,
                                           const std::vector<uint32_t>& rows,
                                           const std::function<std::string(uint32_t)>& text) {
  const StatementFinder finder(question, table, text);
  std::vector<FactStatement> out;
  for (const uint32_t r : rows)
    if (const double s = finder.score(r); s >= kEnough) out.push_back({r, s});
  return out;
}

std::string statement_words(const FactQuestion& question) {
  std::string out;
  for (const std::string& w : question.words) out += w + " ";
  if (question.field)
    for (const std::string_view told : question.field->told) out += std::string(told) + " ";
  return out;
}

int64_t choose_statement(const FactQuestion& question, const std::vector<FactStatement>& statements,
                         const TurnTable& table, int64_t until) {
  const auto n = static_cast<int64_t>(statements.size());
  switch (question.time) {
    case FactTime::now:
      return n - 1;
    case FactTime::when:  // of what it is now; of a thing that is named, when it came up
      return question.field || n == 0 ? n - 1 : 0;
    case FactTime::first:
      return n > 0 ? 0 : -1;
    case FactTime::before:
      return n - 2;
    case FactTime::at: {
      int64_t at = -1;
      for (int64_t i = 0; i < n && table.local(statements[static_cast<size_t>(i)].row) <= until; ++i) at = i;
      return at;
    }
  }
  return -1;
}

}  // namespace quern::memory
