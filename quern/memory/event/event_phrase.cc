#include "quern/memory/event/event_phrase.h"

#include <algorithm>
#include <span>

#include "quern/memory/time/among.h"
#include "quern/recall/words/tokens.h"

namespace quern::memory {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kDeterminers[] = {"the",   "my",  "our", "your", "his",  "her",
                                             "their", "its", "a",   "an",   "that", "this"};
constexpr std::string_view kSubjects[] = {"i", "we", "he", "she", "they", "you", "it", "everyone", "everybody"};
constexpr std::string_view kAuxiliaries[] = {"did", "do",  "does", "was",  "were", "is",
                                             "are", "had", "has",  "have", "can",  "could"};
constexpr std::string_view kAsking[] = {"what", "who",  "whom", "whose", "which",  "where",    "why",      "how",
                                        "when", "list", "tell", "show",  "remind", "anything", "summarize"};
constexpr std::string_view kIntroducing[] = {"about", "regarding", "concerning"};
constexpr std::string_view kFamily[] = {"mum",    "mom",    "mummy",   "mother", "dad",     "daddy",   "father",
                                        "gran",   "granny", "grandma", "nan",    "grandpa", "grandad", "granddad",
                                        "auntie", "uncle",  "sis",     "bro",    "folks"};
// Of every day, and so of no day: "after work".
constexpr std::string_view kHabits[] = {
    "work",   "school",  "lunch",   "dinner",   "breakfast", "bed",     "bedtime", "dark",    "tea",     "supper",
    "sunset", "sunrise", "dawn",    "dusk",     "hours",     "long",    "all",     "that",    "this",    "then",
    "now",    "it",      "them",    "him",      "hand",      "even",    "anyone",  "anybody", "someone", "last",
    "next",   "one",     "another", "other",    "each",      "every",   "any",     "some",    "using",   "being",
    "going",  "eating",  "waking",  "sleeping", "possible",  "schedule"};
// "the difference between the cat and the dog"
constexpr std::string_view kBetweenThings[] = {"difference", "fight",  "argument",     "relationship",
                                               "choose",     "choice", "conversation", "deal",
                                               "distance",   "match",  "link",         "trouble"};
// "look after the dog", "named after my aunt": no time.
constexpr std::string_view kVerbsOfAfter[] = {
    "look",  "looks",  "looked",  "looking", "named",   "called",   "take",  "takes", "took",
    "taken", "taking", "run",     "runs",    "ran",     "running",  "go",    "goes",  "going",
    "chase", "chased", "chasing", "clean",   "cleaned", "cleaning", "asked", "ask",   "lust"};
constexpr std::string_view kNoGerunds[] = {"morning",   "evening",    "during",     "something",
                                           "anything",  "nothing",    "everything", "according",
                                           "regarding", "concerning", "following",  "spring"};
constexpr std::string_view kAdjoining[] = {"right", "just", "directly", "straight", "immediately", "shortly", "soon"};
constexpr size_t kLongestName = 14;  // words

class EventReader {
 public:
  EventReader(std::string_view question, const TimeWords& words, const TimeQuery& own,
              const std::vector<std::string>& people)
      : text_(question), w_(words), t_(words.tokens), n_(words.tokens.size()), own_(own), people_(people) {}

  std::vector<EventPhrase> run() {
    std::vector<EventPhrase> out;
    for (size_t i = 0; i < n_;) {
      EventPhrase p;
      const size_t end = phrase(i, p);
      if (end) out.push_back(p);
      i = std::max(end, i + 1);
    }
    return out;
  }

 private:
  std::string_view word(size_t i) const { return i < n_ ? w_.spelling(i) : std::string_view(); }
  bool said(size_t i, std::string_view w) const { return word(i) == w; }
  bool read(size_t i) const {  // by the grammar of time
    return std::any_of(own_.constraints.begin(), own_.constraints.end(),
                       [&](const TimeConstraint& c) { return t_[i].begin < c.end && t_[i].end > c.begin; });
  }
  bool person(size_t i) const {
    if (i >= n_) return false;
    std::string_view w = word(i);
    if (w.ends_with("'s")) w.remove_suffix(2);
    return std::find(people_.begin(), people_.end(), w) != people_.end();
  }
  bool subject(size_t i) const {  // "i've", "we'd", "Ada", "mum"
    const std::string_view w = word(i).substr(0, word(i).find('\''));
    return among(w, kSubjects) || among(w, kFamily) || person(i);
  }
  bool punctuated(size_t i) const {
    return i >= n_ || t_[i].starts || std::string_view(",;:?!(").find(t_[i].before) != std::string_view::npos;
  }
  bool clause_begins(size_t i) const { return i == 0 || punctuated(i); }

  // Behind "after", "until", "by the time", …; 0 where none stands at i.
  size_t marker(size_t i, EventSide& side) const {
    const auto take = [&](EventSide s, size_t n) { return side = s, i + n; };
    if (said(i, "after")) return i > 0 && among(word(i - 1), kVerbsOfAfter) ? 0 : take(EventSide::after, 1);
    if (said(i, "before")) return take(EventSide::before, 1);
    if (said(i, "prior") && said(i + 1, "to")) return take(EventSide::before, 2);
    if (said(i, "ahead") && said(i + 1, "of")) return take(EventSide::before, 2);
    if (said(i, "leading") && said(i + 1, "up") && said(i + 2, "to")) return take(EventSide::before, 3);
    if (said(i, "ever") && said(i + 1, "since")) return take(EventSide::since, 2);
    if (said(i, "since")) return take(EventSide::since, 1);
    if (said(i, "until") || said(i, "till") || said(i, "til")) return take(EventSide::until, 1);
    if (said(i, "by") && said(i + 1, "the") && said(i + 2, "time")) return take(EventSide::until, 3);
    const size_t on = said(i, "on") ? 1 : 0;
    if (said(i + on, "the") &&
        (said(i + on + 1, "day") || said(i + on + 1, "night") || said(i + on + 1, "evening"))) {
      if (said(i + on + 2, "of")) return take(EventSide::day, on + 3);
      if (subject(i + on + 2)) return take(EventSide::day, on + 2);
    }
    if (said(i, "as") && said(i + 1, "soon") && said(i + 2, "as")) return take(EventSide::after, 3);
    if (said(i, "once") && (i == 0 || !said(i - 1, "at")) && !said(i + 1, "a") && !said(i + 1, "an") &&
        (among(word(i + 1), kDeterminers) || subject(i + 1)))
      return take(EventSide::after, 1);
    if (said(i, "following") && i > 0 && !subject(i - 1) && !among(word(i - 1), kAuxiliaries) &&
        !said(i - 1, "still"))
      return take(EventSide::after, 1);
    return 0;
  }

  // Whether what follows i names an event and no time.
  bool begins_name(size_t i) const {
    if (i >= n_ || read(i) || punctuated(i)) return false;
    const std::string_view w = word(i);
    if (among(w, kDeterminers)) {
      if (i + 1 >= n_ || punctuated(i + 1) || read(i + 1)) return false;
      return !among(word(i + 1), kIntroducing) && t_[i + 1].lex != Lex::unit && t_[i + 1].lex != Lex::session &&
             t_[i + 1].lex != Lex::response && t_[i + 1].word != Word::one && t_[i + 1].word != Word::begin &&
             t_[i + 1].word != Word::end && !said(i + 1, "start") && !marker_here(i + 1) &&
             !((w == "that" || w == "this") && (among(word(i + 1), kAsking) || among(word(i + 1), kAuxiliaries)));
    }
    if (subject(i))  // "before I forget"
      return i + 1 < n_ && !punctuated(i + 1) && !marker_here(i + 1) && !said(i + 1, "forget") &&
             !said(i + 1, "ask") && !said(i + 1, "go");
    if (w.size() >= 5 && w.ends_with("ing")) return !among(w, kNoGerunds) && !among(w, kHabits);
    return t_[i].lex == Lex::other && t_[i].word == Word::none && w.size() > 2 && !among(w, kHabits) &&
           !among(w, kAsking) && !among(w, kAuxiliaries) && !among(w, kIntroducing) && !recall::is_stopword(w);
  }
  bool marker_here(size_t i) const {
    EventSide side;
    return marker(i, side) != 0;
  }

  // "after the wedding what did we …": the question begins, although no comma says so.
  bool question_begins(size_t i, size_t from) const {
    if (among(word(i), kAsking)) return i > from + 1 || !subject(from);
    return i > from + 1 && among(word(i), kAuxiliaries) && (subject(i + 1) || among(word(i + 1), kDeterminers));
  }

  // The token behind the name that begins at i; leads: the phrase stands in front of the question.
  size_t name_end(size_t i, bool leads, bool to_and) const {
    size_t k = i;
    while (k < n_ && k < i + kLongestName) {
      if (k > i && (punctuated(k) || marker_here(k) || among(word(k), kIntroducing))) break;
      if (read(k) || (to_and && said(k, "and"))) break;
      if (leads && k > i && question_begins(k, i)) break;
      ++k;
    }
    return k;
  }
  EventName name(size_t from, size_t to) const { return {t_[from].begin, t_[to - 1].end}; }

  size_t between(size_t i, EventPhrase& out) const {
    if (!said(i, "between") || (i > 0 && among(word(i - 1), kBetweenThings)) || !begins_name(i + 1)) return 0;
    const bool leads = clause_begins(i);
    const size_t first = name_end(i + 1, leads, true);
    if (!said(first, "and") || first + 1 >= n_) return 0;
    const size_t second = first + 1;
    if (!begins_name(second)) return 0;
    const size_t end = name_end(second, leads, false);
    if (end <= second) return 0;
    out = {.side = EventSide::between,
           .begin = t_[i].begin,
           .end = t_[end - 1].end,
           .name = name(i + 1, first),
           .second = name(second, end)};
    return end;
  }

  size_t phrase(size_t i, EventPhrase& out) const {
    if (const size_t end = between(i, out)) return end;
    EventSide side;
    const size_t k = marker(i, side);
    if (!k || !begins_name(k)) return 0;
    size_t from = i;
    while (from > 0 && among(word(from - 1), kAdjoining) && !punctuated(from)) --from;
    const bool counted = i > 0 && !punctuated(i) && (side == EventSide::before || side == EventSide::after) &&
                         (t_[i - 1].lex == Lex::unit || t_[i - 1].lex == Lex::part ||
                          (t_[i - 1].lex == Lex::weekday && !t_[i - 1].weak));
    if (!counted && read(i)) return 0;
    const size_t end = name_end(k, clause_begins(from) || counted, false);
    if (end <= k) return 0;
    out = {.side = side,
           .close = from < i,
           .counted = counted,
           .begin = t_[from].begin,
           .end = t_[end - 1].end,
           .name = name(k, end),
           .second = {}};
    return end;
  }

  std::string_view text_;
  const TimeWords& w_;
  const std::vector<Token>& t_;
  size_t n_;
  const TimeQuery& own_;
  const std::vector<std::string>& people_;
};

}  // namespace

std::vector<EventPhrase> event_phrases(std::string_view question, const TimeWords& words, const TimeQuery& own,
                                       const std::vector<std::string>& people) {
  return EventReader(question, words, own, people).run();
}

}  // namespace quern::memory
