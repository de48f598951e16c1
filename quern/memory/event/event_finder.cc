#include "quern/memory/event/event_finder.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "quern/memory/event/event_words.h"
#include "quern/memory/kinds/telling_kinds.h"
#include "quern/recall/words/tokens.h"
#include "quern/text/unicode/ascii_case.h"

namespace quern::memory {
namespace {

using text::ascii_lowercase;

constexpr size_t kCandidates = 200;
constexpr double kOtherWord = 0.55;  // of what the event's own word counts
constexpr double kMinCovered = 0.3;  // of the event's words, by weight
constexpr double kAsGood = 0.85;     // of the best score: the earliest of these is taken
constexpr double kLight = 0.35;      // of a verb that tells little ("got", "came")
constexpr size_t kAllRead = 1200;    // turns: of more, those that the index finds
constexpr double kOfKind = 0.75;     // of the probability of the event's kind, beside the words of the event
constexpr double kMinOfKind = 0.3;   // of that probability
constexpr double kNeighbor = 0.35;   // of the words that the turn before has

using Words = std::span<const std::string_view>;
constexpr std::string_view kLightVerbs[] = {
    "get",      "got",    "getting", "gets", "go",      "went",    "going", "gone",   "come",
    "came",     "coming", "do",      "did",  "done",    "doing",   "have",  "having", "take",
    "took",     "make",   "made",    "put",  "start",   "started", "begin", "began",  "finish",
    "finished", "became", "become",  "stop", "stopped", "here",    "still", "end",    "ended"};
constexpr std::string_view kAhead[] = {"tomorrow",   "next",     "will",        "going to", "gonna",       "'ll",
                                       "soon",       "planning", "plan",        "booked",   "might",       "want",
                                       "hope",       "hoping",   "thinking",    "due",      "would",       "could",
                                       "should",     "maybe",    "considering", "upcoming", "looking for", "nervous",
                                       "can't wait", "if",       "scheduled",   "dreading"};
constexpr std::string_view kLookingBack[] = {"since",    "ever since", "remember",  "after the", "before the",
                                             "ago",      "last year",  "back when", "used to",   "before we",
                                             "after we", "before i",   "after i",   "still"};
constexpr std::string_view kTomorrow[] = {"tomorrow", "tmrw", "tomorrow's"};
constexpr std::string_view kNextWeek[] = {"next week", "in a week", "a week from now"};
constexpr std::string_view kReporting[] = {"today",          "finally",    "yesterday", "this morning", "last night",
                                           "just",           "officially", "tonight",   "this week",    "at last",
                                           "done",           "so,",        "news",      "we're in",     "it's over",
                                           "this afternoon", "now"};

bool has_any(std::string_view text, Words phrases) {
  const auto letter = [&](size_t i) { return i < text.size() && text[i] >= 'a' && text[i] <= 'z'; };
  return std::any_of(phrases.begin(), phrases.end(), [&](std::string_view p) {
    for (size_t at = text.find(p); at != text.npos; at = text.find(p, at + 1))
      if ((at == 0 || !letter(at - 1)) && !letter(at + p.size())) return true;
    return false;
  });
}

std::string stem(std::string_view word) {
  std::string out = ascii_lowercase(word);
  recall::porter_stem(out);
  return out;
}

// The day, week or month ahead of a turn that it names: "on the 26th", "in June", "tomorrow", "on Friday".
std::optional<TimeRange> announced_in(const std::string& text, LocalSeconds said) {
  const Day today = day_part(said);
  const auto ahead = [&](Day days) { return (today + days) * kDaySeconds + kDaySeconds - 1; };
  const auto range_at = [&](LocalSeconds now, const char* wanted) -> std::optional<TimeRange> {
    Clock clock;
    clock.now = now;
    for (const TimeConstraint& c : parse_time(text, clock).constraints) {
      if (c.axis != Axis::date || c.ranges.size() != 1 || c.nothing || c.anchor || c.join != TimeJoin::meet) continue;
      const std::string_view name = c.name;
      const bool day = name == "day-of-month", week = c.rule == TimeRule::named_day || name == "weekend";
      const std::string_view kind = day ? "day" : week ? "week" : c.absolute ? "year" : "";
      if (kind == wanted && c.ranges[0].lo > said && c.ranges[0].hi < now + kDaySeconds && c.grain != Grain::year)
        return c.ranges[0];
    }
    return std::nullopt;
  };
  const std::string lower = ascii_lowercase(text);
  if (has_any(lower, kTomorrow)) return TimeRange{(today + int64_t{1}) * kDaySeconds, ahead(1)};
  if (auto r = range_at(ahead(31), "day")) return r;
  if (auto r = range_at(ahead(7), "week")) return r;
  if (auto r = range_at(ahead(364), "year")) return r;
  if (has_any(lower, kNextWeek)) return TimeRange{(today + int64_t{4}) * kDaySeconds, ahead(10)};
  return std::nullopt;
}

struct EventWord {
  std::string stem;
  std::vector<std::string> others;  // stems of words like it
  double weight = 0;
};

class EventFinder {
 public:
  EventFinder(std::string_view name, std::optional<int32_t> speaker, const EventSource& source)
      : s_(source), speaker_(speaker) {
    for (const std::string& who : s_.speakers)
      recall::for_each_word(
          who, [&](size_t b, size_t e) { people_.insert(ascii_lowercase(std::string_view(who).substr(b, e - b))); });
    recall::for_each_word(name, [&](size_t b, size_t e) { add(ascii_lowercase(name.substr(b, e - b))); });
    kind_ = kinds_.named(ascii_lowercase(name));
  }

  std::optional<EventFound> run() {
    if (words_.empty()) return std::nullopt;
    std::set<uint32_t> rows;
    for (const recall::ScoredDocument& hit : s_.top(query_, kCandidates)) {
      const auto row = static_cast<uint32_t>(s_.table.row_of_id(hit.id));
      if (row < s_.rows) rows.insert(row);
    }
    if (kind_ >= 0 && s_.rows <= kAllRead)
      for (uint32_t row = 0; row < s_.rows; ++row) rows.insert(row);
    std::vector<std::pair<double, uint32_t>> scored;
    double best = 0;
    for (const uint32_t row : rows) {
      const double score = score_of(row);
      if (score > 0) scored.emplace_back(score, row), best = std::max(best, score);
    }
    for (const auto& [score, row] : scored) {  // in order of time
      if (score < kAsGood * best) continue;
      EventFound out{row, s_.text(row)};
      out.announced = announced(out.text, s_.table.local(row));
      out.ahead = !out.announced && has_any(ascii_lowercase(out.text), kAhead);
      return out;
    }
    return std::nullopt;
  }

 private:
  void add(const std::string& word) {
    if (word.size() < 2 || recall::is_stopword(word) || people_.contains(word)) return;
    EventWord w{.stem = stem(word), .others = {}};
    if (std::any_of(words_.begin(), words_.end(), [&](const EventWord& o) { return o.stem == w.stem; })) return;
    query_ += " " + word;
    double turns = static_cast<double>(s_.turns_with(word));
    for (const std::string_view other : words_like(word)) {
      w.others.push_back(stem(other));
      query_ += " " + std::string(other);
      turns += static_cast<double>(s_.turns_with(other));
    }
    w.weight = std::log(1 + static_cast<double>(s_.table.size()) / (1 + turns));
    if (std::find(std::begin(kLightVerbs), std::end(kLightVerbs), word) != std::end(kLightVerbs)) w.weight *= kLight;
    total_ += w.weight;
    words_.push_back(std::move(w));
  }

  // In the sentence that speaks of the event.
  std::optional<TimeRange> announced(const std::string& text, LocalSeconds said) const {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find_first_of(".!?", begin), text.size());
      const std::string sentence = text.substr(begin, end - begin);
      if (covered(sentence) > 0)
        if (auto when = announced_in(sentence, said)) return when;
      begin = end + 1;
    }
    return std::nullopt;
  }

  double covered(std::string_view text) const {
    std::set<std::string> there;
    recall::for_each_word(text, [&](size_t b, size_t e) { there.insert(stem(text.substr(b, e - b))); });
    double sum = 0;
    for (const EventWord& w : words_) {
      if (there.contains(w.stem))
        sum += w.weight;
      else if (std::any_of(w.others.begin(), w.others.end(), [&](const auto& o) { return there.contains(o); }))
        sum += kOtherWord * w.weight;
    }
    return sum / total_;
  }

  // That it reports an event of this kind.
  double of_kind(const std::string& text) const {
    if (kind_ < 0) return 0;
    const double z = kinds_.scores(text)[static_cast<size_t>(kind_)];
    return 1 / (1 + std::exp(-z));
  }

  double score_of(uint32_t row) {
    const std::string text = s_.text(row), lower = ascii_lowercase(text);
    double score = covered(text);
    const double kind = lower.ends_with('?') ? 0 : of_kind(text);
    if (kind >= kMinOfKind) score = std::min(1.0, score * (1 - kOfKind / 2) + kOfKind * kind);
    if (score == 0) return 0;
    if (row > 0 && s_.table.session[row - 1] == s_.table.session[row])
      score = std::max(score, score + kNeighbor * (std::max(covered(s_.text(row - 1)), score) - score));
    if (score < kMinCovered) return 0;
    if (lower.ends_with('?')) score *= 0.6;
    if (has_any(lower, kAhead)) score *= 0.75;
    if (has_any(lower, kLookingBack)) score *= 0.8;
    if (has_any(lower, kReporting)) score *= 1.15;
    if (speaker_ && s_.table.speaker[row] == *speaker_) score *= 1.3;
    return score;
  }

  const EventSource& s_;
  std::optional<int32_t> speaker_;
  std::set<std::string> people_;
  std::vector<EventWord> words_;
  std::string query_;
  double total_ = 0;
  const TellingKinds& kinds_ = TellingKinds::of_events();
  int32_t kind_ = -1;
};

}  // namespace

std::optional<EventFound> find_event(std::string_view name, std::optional<int32_t> speaker,
                                     const EventSource& source) {
  return EventFinder(name, speaker, source).run();
}

}  // namespace quern::memory
