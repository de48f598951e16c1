// What no rule used. Every word that may speak of time and stands in no phrase that was read is kept, as it was said,
// so that the answer can name it: an answer that passes over "except" or "the second half" in silence is a wrong one.
#include <algorithm>
#include <array>
#include <span>

#include "quern/memory/time/among.h"

#include "quern/memory/time/time_parser.h"

namespace quern::memory {
namespace {

// Words of time that the lexicon has no kind for, or that it knows as something else.
constexpr std::string_view kTimely[] = {"o'clock",     "oclock",      "dawn",        "dusk",
                                        "sunrise",     "sunset",      "breakfast",   "lunch",
                                        "dinner",      "bedtime",     "daily",       "weekly",
                                        "monthly",     "yearly",      "annual",      "hourly",
                                        "nightly",     "overnight",   "century",     "centuries",
                                        "era",         "semester",    "term",        "trimester",
                                        "moment",      "meanwhile",   "afterwards",  "afterward",
                                        "beforehand",  "formerly",    "anymore",     "simultaneously",
                                        "ante",        "weekdays",    "weekday",     "workday",
                                        "workdays",    "bank",        "eve",         "twice",
                                        "fourths",     "thirds",      "intervening", "consecutive",
                                        "alternate",   "alternating", "odd",         "even",
                                        "earliest",    "longest",     "shortest",    "antepenultimate",
                                        "fortnightly", "biweekly",    "lunar",       "solstice",
                                        "equinox",     "advent",      "lent",        "ramadan",
                                        "diwali",      "hanukkah",    "eid",         "passover",
                                        "whitsun",     "pentecost",   "carnival",    "epiphany",
                                        "midsummer",   "yom",         "purim",       "holi",
                                        "vacation",    "holidays",    "daytime",     "noontime",
                                        "teatime",     "suppertime",  "supper",      "nightfall",
                                        "than",        "busiest",     "quietest"};

constexpr std::string_view kExcepting[] = {"except",   "excepting", "excluding", "exclude", "without", "besides",
                                           "barring",  "omitting",  "skipping",  "minus",   "outside", "unless",
                                           "neither",  "nor",       "not",       "only",    "other",   "excluded",
                                           "excepted", "omitted",   "aside",     "skipped"};

}  // namespace

void TimeParser::look_over() {
  find_holidays();
  for (size_t i = 0; i < n_; ++i) {
    const bool verb = t_[i].word == Word::talk || (i > 0 && (is(i - 1, Word::we) || is(i - 1, Word::to)));
    const bool noun = i > 0 && (is(i - 1, Word::the) || is(i - 1, Word::our) || is(i - 1, Word::last) ||
                                is(i - 1, Word::recent) || is(i - 1, Word::penultimate) || is(i - 1, Lex::ordinal));
    if (t_[i].lex == Lex::session && t_[i].value == 0 && (!verb || noun))
      first_session_ = std::min(first_session_, i);
    const std::string_view w = w_.spelling(i);
    differing_ |= w == "differ" || w == "differs" || w == "differed" || w == "different" || w == "difference" ||
                  w == "differences";
    comparing_ |= w == "compare" || w == "compared" || w == "comparing" || w == "comparison" || w == "relative";
  }
}

namespace {

enum class Timely : uint8_t { no, beside, yes };  // beside: when one that is stands next to it, or something was read

Timely timely(const Token& t, std::string_view w) {
  switch (t.lex) {
    case Lex::month:
    case Lex::weekday:
      return t.weak ? (t.capital && !t.starts ? Timely::beside : Timely::no) : Timely::yes;
    case Lex::unit:
      return w == "day" || w == "min" || w == "second" || w == "quarter" ? Timely::beside : Timely::yes;
    case Lex::day_word:
    case Lex::clock:
    case Lex::date:
    case Lex::year:
    case Lex::quarter:
      return Timely::yes;
    case Lex::part:
    case Lex::season:
    case Lex::holiday:
    case Lex::number:
    case Lex::ordinal:
      return t.digits && t.lex == Lex::ordinal ? Timely::yes : w == "one" ? Timely::no : Timely::beside;
    case Lex::session:
      return t.plural ? Timely::beside : Timely::no;  // "two sessions ao"
    default:
      break;
  }
  switch (t.word) {
    case Word::ago:
    case Word::since:
    case Word::until:
    case Word::penultimate:
    case Word::last:
    case Word::noon:
    case Word::midnight:
      return Timely::yes;
    case Word::past:
    case Word::previous:
    case Word::earlier:
    case Word::later:
    case Word::before:
    case Word::after:
    case Word::between:
    case Word::next:
    case Word::half:
    case Word::recent:
    case Word::onward:
      return Timely::beside;
    default:
      break;
  }
  if (among(w, kTimely)) return Timely::beside;
  return among(w, kExcepting) ? Timely::beside : Timely::no;
}

}  // namespace

// "just over a week ago", "nearly a year ago"
bool TimeParser::bends(size_t i, const std::vector<uint8_t>& used) const {
  if (i + 1 >= n_ || used[i + 1] != 1) return false;
  return is(i, Word::over) || said(i, "under") || said(i, "nearly") || said(i, "almost") || said(i, "barely");
}

// Neighbors are named together: "the second half", "except Tuesday".
void TimeParser::leftover(const std::vector<uint8_t>& used) {
  std::vector<Timely> kinds(n_, Timely::no);
  for (size_t i = 0; i < n_; ++i)
    if (used[i] != 1) kinds[i] = used[i] == 2 || bends(i, used) ? Timely::yes : timely(t_[i], w_.spelling(i));
  for (size_t i = 0; i < n_; ++i)  // chats are of no time by themselves
    if (kinds[i] == Timely::beside && t_[i].lex == Lex::session &&
        !(i > 0 && (is(i - 1, Lex::number) || is(i - 1, Lex::ordinal))))
      kinds[i] = Timely::no;
  size_t named = 0;
  for (const TimeConstraint& c : out_.constraints) named += c.ranges.size();
  for (size_t i = 0; i < n_; ++i) {
    // "longer than Monday's": both are there; "rather than in May": that is said elsewhere
    if (said(i, "than") && (named > 1 || (i > 0 && said(i - 1, "rather")))) kinds[i] = Timely::no;
    // "last week but in May": neither an exception nor anything else
    if (is(i, Word::but) && used[i] != 1 && i > 0 && used[i - 1] == 1 && i + 1 < n_ && used[i + 1] == 1)
      kinds[i] = Timely::yes;
    const bool days = is(i, Lex::unit) && t_[i].plural && kinds[i] != Timely::no;  // "on days other than Tuesday"
    if (days && std::any_of(out_.constraints.begin(), out_.constraints.end(), [&](const TimeConstraint& c) {
          return c.join == TimeJoin::except && i + 1 < n_ && c.begin == t_[i + 1].begin;
        }))
      kinds[i] = Timely::no;
  }
  const bool timed = !out_.constraints.empty();
  auto sure = [&](size_t i) {
    if (i >= n_) return false;
    return used[i] == 1 || kinds[i] == Timely::yes;
  };
  for (size_t i = 0; i < n_; ++i) {
    if (kinds[i] == Timely::no) continue;
    if (kinds[i] == Timely::beside) {
      bool near = timed;
      for (size_t back = 1; back <= 2 && !near; ++back)
        near =
            (i >= back && sure(i - back)) || sure(i + back) || (i + back < n_ && kinds[i + back] == Timely::beside);
      if (!near) {
        const bool pointed = i > 0 && (is(i - 1, Word::that) || is(i - 1, Word::this_) || said(i - 1, "same"));
        if (!pointed && t_[i].lex != Lex::session) out_.faint.emplace_back(w_.spelling(i));
        continue;
      }
    }
    size_t end = i + 1;
    while (end < n_ && used[end] != 1 && kinds[end] != Timely::no) ++end;
    out_.unread.emplace_back(text_.substr(t_[i].begin, t_[end - 1].end - t_[i].begin));
    i = end;
  }
}

std::vector<std::string> TimeParser::left(const std::vector<uint8_t>& used) {
  out_.constraints.emplace_back();  // a time is named
  leftover(used);
  return std::move(out_.unread);
}

std::vector<std::string> timely_words_left(std::string_view text, const TimeWords& words,
                                           const std::vector<uint8_t>& used) {
  return TimeParser(text, words, Clock{}).left(used);
}

bool speaks_of_exception(std::string_view words) {
  const TimeWords w = time_words(words);
  for (size_t i = 0; i < w.tokens.size(); ++i)
    if (among(w.spelling(i), kExcepting) || w.spelling(i) == "but") return true;
  return false;
}

}  // namespace quern::memory
