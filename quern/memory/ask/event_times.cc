#include "quern/memory/ask/event_times.h"

#include <algorithm>
#include <optional>

#include "quern/base/error.h"
#include "quern/memory/ask/speaker_meant.h"
#include "quern/memory/event/event_phrase.h"
#include "quern/memory/time/calendar.h"

namespace quern::memory {
namespace {

constexpr size_t kMaxEvents = 4;    // of one question
constexpr size_t kShownBytes = 70;  // of a turn in a note

std::string shortened(const std::string& text) {
  if (text.size() <= kShownBytes) return text;
  size_t end = kShownBytes;
  while (end > 0 && text[end] != ' ') --end;
  if (end == 0)
    for (end = kShownBytes; end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80;) --end;
  return text.substr(0, end) + " …";
}

class EventResolver {
 public:
  EventResolver(std::string_view question, DateOrder order, const std::vector<std::string>& people,
                const QuestionFrame& frame)
      : order_(order), people_(people), f_(frame) {
    out_.text = question;
  }

  EventTimes run() {
    if (f_.event && f_.table.size() > 0) {
      for (size_t i = 0; i < kMaxEvents && count_from_one(); ++i) {
      }
      std::vector<EventPhrase> phrases = read();
      if (phrases.size() > kMaxEvents) {
        phrases.resize(kMaxEvents);
        note(fmt::format("more than {} events are named: the first were used", kMaxEvents));
      }
      out_.asked = out_.text;
      for (const EventPhrase& p : phrases)
        if (!p.counted) bound(p);
    } else {
      out_.asked = out_.text;
    }
    return std::move(out_);
  }

 private:
  std::vector<EventPhrase> read() const {
    const TimeWords words = time_words(out_.text, order_);
    return event_phrases(out_.text, words, parse_time(out_.text, words, f_.clock), people_);
  }

  // "two weeks after the move" → "two weeks after 3 May 2023"
  bool count_from_one() {
    for (const EventPhrase& p : read()) {
      if (!p.counted) continue;
      const auto when = find(p.name, p.side);
      if (!when) continue;
      const Civil day = civil(day_part(when->lo));
      out_.text.replace(p.name.begin, p.name.end - p.name.begin,
                        fmt::format("{} {} {}", day.day, month_name(day.month), day.year));
      return true;
    }
    return false;
  }

  // When it was: the second of the turn that reports it, or the days for which it was announced.
  std::optional<TimeRange> find(const EventName& name, EventSide side) {
    const std::string said(name.in(out_.text));
    const auto found = f_.event(said, speaker_meant(said, f_.speakers, f_.asker));
    if (!found) return note(fmt::format("no turn reports '{}': it was not used as a time", said)), std::nullopt;
    const LocalSeconds at = f_.table.utc[found->row] + f_.clock.offset;
    if (found->ahead && side != EventSide::after && side != EventSide::since) {
      note(fmt::format("'{}' was announced on {} without a date: it was not used as a time", said, time_text(at)));
      return std::nullopt;
    }
    const std::string& speaker = f_.speakers[static_cast<size_t>(f_.table.speaker[found->row])];
    const TimeRange when = found->announced.value_or(TimeRange{at, at});
    const std::string day = date_text(day_part(when.lo)), last = date_text(day_part(when.hi));
    note(fmt::format(
        "'{}' was taken for {}{}, {}: “{}”", said,
        !found->announced ? "" : fmt::format("{}{}, as announced on ", day, day == last ? "" : " to " + last),
        time_text(at), speaker, shortened(found->text)));
    return when;
  }
  void note(std::string text) {
    if (std::find(out_.notes.begin(), out_.notes.end(), text) == out_.notes.end())
      out_.notes.push_back(std::move(text));
  }

  // The end of the session after that of this time, or the beginning of the one before it.
  LocalSeconds near(LocalSeconds at, bool later) const {
    const TurnTable& t = f_.table;
    const auto when = [&](size_t row) { return t.utc[row] + f_.clock.offset; };
    size_t r = 0;
    while (r + 1 < t.size() && when(r + 1) <= at) ++r;
    const bool in_it = when(r) == at;  // else it lies behind that session
    const int32_t session = t.session[r] + (later ? 1 : in_it ? -1 : 0);
    if (later)
      while (r + 1 < t.size() && t.session[r + 1] <= session) ++r;
    else
      while (r > 0 && t.session[r - 1] >= session) --r;
    return when(r);
  }

  void bound(const EventPhrase& p) {
    const size_t notes = out_.notes.size();
    const auto when = find(p.name, p.side);
    const auto second = p.side == EventSide::between ? find(p.second, p.side) : when;
    if (!when || !second) {
      out_.notes.resize(std::min(notes, out_.notes.size()));
      find(when ? p.second : p.name, p.side);  // says why; what is said of the other one would promise too much
      return;
    }
    const bool reported = when->lo == when->hi;  // that turn is neither before nor after
    TimeRange range{kNoBegin, kNoEnd};
    switch (p.side) {
      case EventSide::after:
        range.lo = when->lo + (reported ? 1 : 0);
        if (p.close) range.hi = near(when->hi, true);
        break;
      case EventSide::before:
        range.hi = when->lo - 1;
        if (p.close) range.lo = near(when->lo, false);
        break;
      case EventSide::since:
        range.lo = when->lo;
        break;
      case EventSide::until:
        range.hi = when->hi;
        break;
      case EventSide::day:
        range.lo = day_part(when->lo) * kDaySeconds;
        range.hi = day_part(when->hi) * kDaySeconds + kDaySeconds - 1;
        break;
      case EventSide::between: {
        const bool turned = second->lo < when->lo;
        const TimeRange &first = turned ? *second : *when, &last = turned ? *when : *second;
        range = {first.lo + (first.lo == first.hi ? 1 : 0), last.hi - (last.lo == last.hi ? 1 : 0)};
        break;
      }
    }
    TimeConstraint c;
    c.ranges = {range}, c.grain = Grain::second, c.name = kEventTime;
    out_.constraints.push_back(std::move(c));
    std::fill(out_.asked.begin() + p.begin, out_.asked.begin() + p.end, ' ');
  }

  DateOrder order_;
  const std::vector<std::string>& people_;
  const QuestionFrame& f_;
  EventTimes out_;
};

}  // namespace

EventTimes event_times(std::string_view question, DateOrder order, const std::vector<std::string>& people,
                       const QuestionFrame& frame) {
  return EventResolver(question, order, people, frame).run();
}

}  // namespace quern::memory
