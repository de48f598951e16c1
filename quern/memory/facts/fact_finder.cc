#include "quern/memory/facts/fact_finder.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "quern/memory/facts/fact_fields.h"
#include "quern/memory/facts/other_people.h"
#include "quern/memory/kinds/telling_kinds.h"
#include "quern/recall/words/tokens.h"
#include "quern/text/unicode/ascii_case.h"

namespace quern::memory {

bool has_name(std::string_view text) {
  bool begins = true;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool upper = c >= 'A' && c <= 'Z';
    const bool initials = i + 1 < text.size() && text[i + 1] >= 'A' && text[i + 1] <= 'Z';
    if (upper && (!begins || initials) && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1])))) {
      const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : ' ');
      const bool alone = !std::isalpha(next) && next < 0x80;
      if (!alone) return true;
    }
    if (c == '.' || c == '!' || c == '?' || c == ':')
      begins = true;
    else if (c != ' ' && c != '"')
      begins = false;
  }
  return false;
}

namespace {

using text::ascii_lowercase;

using W = std::string_view;
constexpr W kChanged[] = {"now",
                          "these days",
                          "from now on",
                          "instead",
                          "swapped",
                          "replaced",
                          "new",
                          "switched",
                          "changed",
                          "as of",
                          "any more",
                          "anymore",
                          "again",
                          "finally",
                          "gave up",
                          "is over",
                          "up to",
                          "down to",
                          "from next week",
                          "from today",
                          "pushed back",
                          "pushed it back",
                          "moving me",
                          "moved me",
                          "moved it",
                          "squeezed me in",
                          "sooner",
                          "brought forward",
                          "put back",
                          "rescheduled",
                          "they can only",
                          "no wait",
                          "i mean",
                          "correction",
                          "postponed",
                          "rebooked",
                          "moved to",
                          "make that",
                          "so that's",
                          "that makes",
                          "officially",
                          "already",
                          "slipped",
                          "no longer",
                          "for good",
                          "left"};
constexpr W kNotSo[] = {"might",          "nearly",      "almost",       "wanted to",  "want a",        "wants a",
                        "wish",           "dreaming",    "dream",        "would",      "could",         "offered",
                        "turned it down", "said no",     "test-drove",   "test drove", "if i could",    "if only",
                        "could never",    "'d move",     "'d love",      "wouldn't",   "borrowed",      "maybe",
                        "thinking of",    "one day",     "as a student", "if i",       "for a day",     "just once",
                        "i'd love",       "considering", "tempted",      "looked at",  "rang me about", "holiday",
                        "spent",          "i tried"};
// The new stands beside the old: "hung up the apron, I drive a bus now".
constexpr W kGoesOn[] = {"now", "instead", "from now on", "these days", "signed up", "joined",
                         "new", "so it's", "back to",     "got myself", "got a",     "switched"};
// Surely none: "I'd move to Lisbon if I could".
constexpr W kWishes[] = {"if i could", "if only",    "if i won",   "i'd love",      "i'd move",    "i'd buy",
                         "i'd get",    "dream of",   "dreaming",   "one day",       "wish i",      "could never",
                         "test drove", "test-drove", "test drive", "nearly bought", "thinking of", "thinking about"};
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
// Weights of the evidence, in logits.
constexpr double kBase = -0.9, kOfKind = 0.75, kStated = 1.2, kTold = 0.9, kShared = 1.6, kValue = 0.6, kStrict = 2.0,
                 kHasChanged = 0.5, kElliptic = 1.2, kOffKind = 0.8;
constexpr double kOfAnother = -1.6, kOfOthers = -3.0, kAsks = -2.0, kNoFact = -2.2, kWish = -2.0, kNotOwn = -4.5,
                 kUnnamed = -1.2, kNamed = 1.0;
constexpr double kOfItsKind = 3.0;     // a turn is no surer a statement than it is of the kind, and this
constexpr size_t kShortQuestion = 40;  // bytes: "favourite film, go"
constexpr double kSurelyAsked = 1.0;   // a logit
constexpr double kAnswers = 0.7;       // of the evidence that the question before has
constexpr double kRecent = 0.9;        // below 1: rather a sure older turn than a doubtful newer one
constexpr double kHasEnded = 1.2;      // a logit
constexpr double kMinOdds = 0.02;      // probability of what is considered
constexpr double kSure = 0.2;          // of what answers

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
      : q_(q), t_(table), text_(text), kinds_(TellingKinds::of_facts()) {
    for (const std::string& w : q.words) stems_.insert(stem(w));
    for (const std::string& w : q.later) later_.insert(stem(w));
    if (q.field) kind_ = kinds_.output(q.field->kind);
    strict_ = q.field && (q.field->value == FactValue::at_sign || q.field->value == FactValue::digits ||
                          q.field->value == FactValue::street);
  }

  FactStatement judge(uint32_t row) {
    FactStatement out{row, 0};
    const bool own = !q_.speaker || t_.speaker[row] == *q_.speaker;
    const std::string text = text_(row), lower = ascii_lowercase(text);
    const bool of_job = q_.field && q_.field->kind == "job";
    const std::string own_words = of_job && q_.relative.empty() ? without_other_subjects(lower) : lower;
    const double share = words_there(lower, stems_);
    out.later = own && !later_.empty() && words_there(lower, later_) == 1;
    if (!own && q_.relative.empty() && share == 0) return out;
    const bool of_relative = !q_.relative.empty() && has_phrase(lower, q_.relative);
    if (!q_.relative.empty() && !own && !of_relative) return out;
    const bool value = q_.counts  ? has_any_phrase(lower, kNumbers) || has_digit(lower, 1)
                       : q_.dates ? has_any_phrase(lower, kDays) || has_digit(lower, 1)
                                  : has_value(q_.field ? q_.field->value : FactValue::any, text, lower);
    if ((strict_ || q_.counts || q_.dates) && !value) return out;
    const bool told = q_.field && has_any_phrase(own_words, q_.field->told);
    const bool changed = has_any_phrase(lower, kChanged);
    const TellingKinds::Scores scores = kinds_.scores(own_words == lower ? text : own_words);
    double kind = kind_ < 0 ? 0 : scores[static_cast<size_t>(kind_)];
    double about = share;
    if (row > 0 && t_.session[row - 1] == t_.session[row] && t_.speaker[row - 1] != t_.speaker[row]) {
      const std::string before = text_(row - 1);
      const std::string asked = ascii_lowercase(before);
      const double named = words_there(asked, stems_);
      const double of_kind = kind_ < 0 ? 0 : kinds_.scores(before)[static_cast<size_t>(kind_)];
      const bool asks = before.find('?') != before.npos || (named > 0 && before.size() < kShortQuestion);
      const bool to_them = of_kind >= kSurelyAsked || named > 0;
      if (asks && to_them && !has_phrase(asked, "my") && lower.find('?') == lower.npos) {
        if (kind_ >= 0) kind = std::max(kind, kAnswers * of_kind);
        about = std::max(about, kAnswers * named);
      }
    }
    kind = std::clamp(kind, -4.0, 4.0);
    double statement = std::clamp(double{scores[static_cast<size_t>(kinds_.output("statement"))]}, -3.0, 3.0);
    if (kind_ >= 0) statement = std::min(statement, kind + kOfItsKind);
    const bool needs_words = q_.field && q_.field->words_matter;
    double z = kBase + (of_relative ? 0 : kStated * statement) + (told ? kTold : 0) + (changed ? kHasChanged : 0) +
               kShared * about * (needs_words || !q_.field ? 1.5 : 1);
    z += kind_ >= 0 ? kOfKind * kind : about > 0 ? 0 : -3;
    if (kind < 0 && !told && about == 0 && !(changed && (q_.counts || q_.dates))) z -= kOffKind;
    if (value && q_.field) z += strict_ ? kStrict : kValue;
    if (changed && value && (q_.counts || q_.dates)) z += kElliptic;
    if ((q_.counts || q_.dates) && about == 0 && !changed) z -= 1;
    z += doubt(row, lower);
    out.score = 1 / (1 + std::exp(-z));
    out.ended = scores[static_cast<size_t>(kinds_.output("ended"))] > kHasEnded && !has_any_phrase(lower, kGoesOn);
    return out;
  }

 private:
  static double words_there(const std::string& lower, const std::set<std::string>& wanted) {
    if (wanted.empty()) return 0;
    std::set<std::string> there;
    recall::for_each_word(lower, [&](size_t b, size_t e) { there.insert(stem(lower.substr(b, e - b))); });
    double n = 0;
    for (const std::string& w : wanted) n += there.contains(w) ? 1 : 0;
    return n / static_cast<double>(wanted.size());
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
    double d = 0;
    const bool own = !q_.speaker || t_.speaker[row] == *q_.speaker;
    if (!q_.relative.empty()) {
      const bool named = has_phrase(lower, q_.relative) || has_phrase(lower, q_.relative + "'s");
      d += named ? kNamed : own ? kUnnamed : kNotOwn;
    } else {
      if (!own) d += kNotOwn;
      if (of_another(lower)) d += kOfAnother;
      if (!strict_ && q_.field && !q_.dates && tells_of_others(lower)) d += kOfOthers;
    }
    if (lower.ends_with('?')) d += kAsks;
    if (!strict_ && has_any_phrase(lower, kNotSo)) d += kNoFact;
    if (has_any_phrase(lower, kWishes)) d += kWish;
    return d;
  }

  const FactQuestion& q_;
  const TurnTable& t_;
  const std::function<std::string(uint32_t)>& text_;
  const TellingKinds& kinds_;
  int32_t kind_ = -1;
  bool strict_ = false;
  std::set<std::string> stems_, later_;
};

// Of those from `begin` to `end` the one that most likely states what held at the end: it is a statement, and none of the
// later ones is.
int64_t last_of(const std::vector<FactStatement>& all, int64_t begin, int64_t end) {
  int64_t best = -1;
  double most = 0, none_later = 1;
  for (int64_t i = end - 1; i >= begin; --i) {
    const FactStatement& s = all[static_cast<size_t>(i)];
    if (s.ended) continue;
    if (s.score * none_later > most) most = s.score * none_later, best = i;
    none_later *= std::pow(1 - s.score, kRecent);
  }
  return best;
}

int64_t last_with_ends(std::vector<FactStatement> all, int64_t end) {
  for (FactStatement& s : all) s.ended = false;
  return last_of(all, 0, end);
}

}  // namespace

std::vector<FactStatement> find_statements(const FactQuestion& question, const TurnTable& table,
                                           const std::vector<uint32_t>& rows,
                                           const std::function<std::string(uint32_t)>& text) {
  StatementFinder finder(question, table, text);
  std::vector<FactStatement> out;
  double best = 0;
  for (const uint32_t r : rows)
    if (const FactStatement s = finder.judge(r); s.score >= kMinOdds)
      out.push_back(s), best = std::max(best, s.score);
  if (best < kSure) out.clear();
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
      return last_of(statements, 0, n);
    case FactTime::when:  // of what it is now; of a thing that is named, when it came up
      return question.field || n == 0 ? last_of(statements, 0, n) : 0;
    case FactTime::first: {
      int64_t best = -1;
      double most = 0, none_earlier = 1;
      for (int64_t i = 0; i < n; ++i) {
        const double p = statements[static_cast<size_t>(i)].score;
        if (p * none_earlier > most) most = p * none_earlier, best = i;
        none_earlier *= 1 - p;
      }
      return best;
    }
    case FactTime::before: {  // what it was until the later one came; one that tells of its end counts too
      const auto later =
          std::find_if(statements.begin(), statements.end(), [](const FactStatement& s) { return s.later; });
      return last_with_ends(statements,
                            later != statements.end() ? later - statements.begin() : last_of(statements, 0, n));
    }
    case FactTime::at: {
      int64_t seen = 0;
      while (seen < n && !statements[static_cast<size_t>(seen)].later &&
             table.local(statements[static_cast<size_t>(seen)].row) <= until)
        ++seen;
      return question.later.empty() ? last_of(statements, 0, seen) : last_with_ends(statements, seen);
    }
  }
  return -1;
}

}  // namespace quern::memory
