#include "quern/memory/facts/fact_question.h"

#include <algorithm>

#include "quern/memory/facts/fact_fields.h"
#include "quern/recall/words/tokens.h"
#include "quern/text/unicode/ascii_case.h"

namespace quern::memory {
namespace {

using text::ascii_lowercase;

using W = std::string_view;
constexpr W kOfTalk[] = {"say",      "said",    "says",    "tell",      "told",     "mention",    "mentioned",
                         "talk",     "talked",  "discuss", "discussed", "chat",     "chatted",    "conversation",
                         "session",  "message", "ask",     "asked",     "bring up", "brought up", "summarize",
                         "happened", "happen",  "come up", "came up",   "hear"};
constexpr W kNow[] = {"now",   "these days", "at the moment", "currently", "current",  "nowadays",
                      "today", "at present", "still",         "right now", "any more", "anymore"};
constexpr W kStates[] = {"live",       "living",         "lived",      "work for", "working for", "working at",
                         "employed",   "have",           "own",        "drive",    "driving",     "study",
                         "studying",   "dating",         "married",    "partner",  "prefer",      "favourite",
                         "favorite",   "allergic",       "job",        "number",   "address",     "studied",
                         "learning",   "my diet",        "vegetarian", "vegan",    "member",      "for a living",
                         "was i with", "supposed to be", "meant to be"};
// With a verb of being or having: "which phone did I use", and not "what did I do at the gym".
constexpr W kStateNouns[] = {"pet",   "pets", "car",  "diet", "company",     "employer",  "laptop",
                             "phone", "gym",  "club", "role", "appointment", "boyfriend", "girlfriend"};
constexpr W kStateVerbs[] = {"had",     "have",   "use",   "using",  "own",  "was with",
                             "with in", "belong", "go to", "was my", "i on", "we on"};
constexpr W kBefore[] = {"before", "previous", "previously", "old", "used to", "former", "formerly", "last one"};
constexpr W kFirst[] = {"at first", "originally", "first", "in the beginning", "to begin with", "very first"};
constexpr W kRelatives[] = {"sister",  "brother", "mum",  "mom",   "mother",   "dad",      "father",  "grandad",
                            "grandpa", "grandma", "gran", "nan",   "wife",     "husband",  "son",     "daughter",
                            "boss",    "cousin",  "aunt", "uncle", "neighbor", "roommate", "flatmate"};
// Words that ask, or say when and whose, and name nothing.
constexpr W kIdle[] = {"current", "currently",  "now",     "days",     "moment", "previous", "previously",
                       "old",     "originally", "first",   "before",   "used",   "many",     "much",
                       "called",  "name",       "day",     "date",     "time",   "take",     "place",
                       "since",   "start",      "started", "nowadays", "still",  "get",      "got",
                       "change",  "changed",    "use",     "using",    "at",     "kind",     "place",
                       "long",    "go",         "does",    "planned",  "held",   "one"};

constexpr size_t kOpening = 30;  // bytes of a time in front of the question

bool begins(std::string_view q, std::initializer_list<W> openings) {
  return std::any_of(openings.begin(), openings.end(), [&](W o) { return q.starts_with(o); });
}

bool in_the_present(const std::string& q) {
  return begins(q, {"where do ", "where does ", "where am ",  "where is ", "where's ",   "who do ",
                    "who does ", "who is ",     "who's ",     "what's ",   "what is ",   "what am ",
                    "which ",    "what do ",    "what does ", "how many ", "when is ",   "when's ",
                    "when do ",  "when does ",  "when are ",  "what day ", "what time ", "what date ",
                    "in which ", "do i ",       "am i ",      "what pet",  "do we ",     "what are "}) ||
         (q.starts_with("what ") &&
          (has_phrase(q, "do") || has_phrase(q, "does") || has_phrase(q, "am") || has_phrase(q, "is")));
}

}  // namespace

std::optional<FactQuestion> fact_question(std::string_view question, TimeSaid time,
                                          const std::vector<std::string>& speakers, const std::string& asker) {
  std::string q = ascii_lowercase(question);
  if (const size_t comma = q.find(", ");
      comma < kOpening && comma + 2 < q.size() &&
      begins(q, {"in ", "at ", "on ", "last ", "back in ", "as of ", "by ", "during "}))
    q.erase(0, comma + 2);  // "in mid-March, when was …"
  FactQuestion out;
  std::vector<std::string> names;
  for (size_t i = 0; i < speakers.size(); ++i) {
    names.push_back(ascii_lowercase(speakers[i]));
    if (has_phrase(q, names.back()) && !out.speaker) out.speaker = static_cast<int32_t>(i);
  }
  const bool mine =
      has_phrase(q, "i") || has_phrase(q, "my") || has_phrase(q, "me") || has_phrase(q, "we") || has_phrase(q, "our");
  if (mine && !asker.empty()) {
    const auto at = std::find(speakers.begin(), speakers.end(), asker);
    if (at != speakers.end()) out.speaker = static_cast<int32_t>(at - speakers.begin());
  }
  for (const W r : kRelatives)
    if (has_phrase(q, r) || has_phrase(q, std::string(r) + "s")) out.relative = r;
  out.dates = begins(q, {"when is ", "when's ", "when do ", "when does ", "when are ", "what day ", "what time ",
                         "what date "}) ||
              q.find("what date") != q.npos || q.find("what time") != q.npos || q.find("what day") != q.npos;
  const bool ours = has_phrase(q, "we") || has_phrase(q, "our");
  if (out.dates && ours) out.speaker.reset();  // either may have told of it
  if (!out.speaker && out.relative.empty() && !out.dates) return std::nullopt;
  if (has_any_phrase(q, kOfTalk)) return std::nullopt;
  const bool present = in_the_present(q);
  const bool commutes = has_any_phrase(q, commute_field().asked) || has_phrase(q, "office");
  const bool way = begins(q, {"how do ", "how does ", "how am ", "how is "}) && commutes;
  const bool past = has_phrase(q, "was") || has_phrase(q, "were") || has_phrase(q, "did") || has_phrase(q, "had") ||
                    has_phrase(q, "used to");
  const bool of_now = has_any_phrase(q, kNow), timed = time == TimeSaid::yes;
  const bool of_a_state = begins(q, {"what was ", "what were ", "who was ", "where was ", "how many ",
                                     "which company ", "what company ", "where were "}) ||
                          has_any_phrase(q, kStates) ||
                          (has_any_phrase(q, kStateNouns) && has_any_phrase(q, kStateVerbs)) ||
                          (q.starts_with("how did ") && commutes);
  if (begins(q, {"since when ", "how long have ", "how long has "}) || (q.starts_with("when did ") && of_now))
    out.time = FactTime::when;
  else if (past && timed && of_a_state)
    out.time = FactTime::at;
  else if (timed && past)
    return std::nullopt;
  else if (has_any_phrase(q, kFirst) && of_a_state)
    out.time = FactTime::first;
  else if (!has_phrase(q, "how old") &&
           ((has_any_phrase(q, kBefore) && past) || has_any_phrase(q, std::span(kBefore).subspan(1, 3))))
    out.time = FactTime::before;
  else if (!past && (present || way || of_now))
    out.time = FactTime::now;
  else
    return std::nullopt;
  if ((has_phrase(q, "called") || has_phrase(q, "name")) && !of_now && out.time == FactTime::now) return std::nullopt;
  out.counts = q.find("how many") != q.npos;
  const bool planned = q.starts_with("when was ") || (q.starts_with("when were ") && out.time != FactTime::now);
  if (planned) out.dates = true;
  if (out.counts) out.field = &count_field();
  if (out.dates) out.field = &appointment_field();
  if (!out.counts && !out.dates)
    for (const FactField& f : fact_fields())
      if (has_any_phrase(q, f.asked)) {
        out.field = &f;
        break;
      }
  size_t later = q.npos;  // "before the Skoda", behind what is asked
  if (const size_t at = q.rfind(" before ");
      at != q.npos && (out.time == FactTime::before || out.time == FactTime::at))
    later = at;
  recall::for_each_word(q, [&](size_t b, size_t e) {
    std::string w = q.substr(b, e - b);
    if (w.size() < 2 || recall::is_stopword(w) || std::find(names.begin(), names.end(), w) != names.end()) return;
    if (std::find(std::begin(kIdle), std::end(kIdle), w) != std::end(kIdle)) return;
    (b > later ? out.later : out.words).push_back(std::move(w));
  });
  if ((!out.field || out.counts || out.dates) && out.words.empty()) return std::nullopt;
  if (!out.field && !out.counts && !out.dates && out.time != FactTime::when && !of_now) return std::nullopt;
  return out;
}

}  // namespace quern::memory
