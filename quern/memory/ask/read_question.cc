#include "quern/memory/ask/read_question.h"

#include <algorithm>
#include <cctype>

#include "quern/base/error.h"
#include "quern/memory/ask/event_times.h"
#include "quern/memory/ask/follow_up.h"
#include "quern/memory/ask/speaker_meant.h"
#include "quern/memory/wording/wording.h"
#include "quern/recall/words/tokens.h"

namespace quern::memory {
namespace {

constexpr size_t kTurnsLookedAt = 20;  // of the context, the newest

std::string lowered(std::string_view s) {
  std::string out(s);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

// What the questions before this one left: a time, the topic and speaker of the newest, and the turn that said it.
struct Carried {
  CarriedTime time;
  Topic topic;
  std::optional<int32_t> speaker;
  int64_t turn = -1;
};

class QuestionReader {
 public:
  QuestionReader(const QuestionFrame& frame) : f_(frame) {
    for (const std::string& s : f_.speakers)
      recall::for_each_word(
          s, [&](size_t b, size_t e) { people_.push_back(lowered(std::string_view(s).substr(b, e - b))); });
    for (size_t i = people_.size(); i-- > 0;) people_.push_back(people_[i] + "s");  // Adas Nachrichten
    for (const std::string& s : f_.speakers) people_.push_back(lowered(s));         // 李娜: a word of several
  }

  ReadQuestion run(std::string_view question, const std::vector<ContextTurn>& context) {
    const Carried before = carried(context);
    ReadQuestion out;
    std::vector<std::string> slips;
    PlainWording plain = plain_wording(with_names_mended(question, f_.speakers, slips), people_);
    out.text = std::move(plain.text), out.notes = std::move(plain.notes);
    out.notes.insert(out.notes.end(), slips.begin(), slips.end());
    const DateOrder order = order_of(plain.language);
    EventTimes events = event_times(out.text, order, people_, f_);
    for (std::string& n : events.notes) out.notes.push_back(std::move(n));
    out.text = std::move(events.text);
    std::string asked = std::move(events.asked);
    TimeWords words = time_words(asked, order);
    TimeQuery own = parse_time(asked, words, f_.clock);
    if (auto framed = in_frame(asked, words, own, before.time)) {
      asked = out.text = std::move(*framed), out.context_turn = before.turn;
      words = time_words(asked, order), own = parse_time(asked, words, f_.clock);
    }
    out.topic = topic_of(asked, own, people_);
    out.speaker = speaker_meant(asked, f_.speakers, f_.asker);
    const bool by_event = !events.constraints.empty();
    for (TimeConstraint& c : events.constraints) own.constraints.push_back(std::move(c));
    out.time = own;
    const bool brief = elliptic(words);
    if (auto next = by_event ? std::nullopt : follow_up(words, own, before.time, f_.table, f_.clock)) {
      if (next->missing && before.time.empty())
        out.notes.push_back("refers to an earlier question, and none with a time came before");
      if (next->replaces) out.time = std::move(next->query), out.context_turn = before.turn;
    } else if (own.empty() && !before.time.empty() && (out.topic.words.empty() || brief || points_at_a_time(asked))) {
      out.time = before.time.query, out.context_turn = before.turn;
      for (const std::string& n : own.notes) out.time.notes.push_back(n);
      out.time.unread = own.unread;
      out.time.unread.insert(out.time.unread.end(), own.faint.begin(), own.faint.end());
    }
    if (out.context_turn >= 0 && brief && before.turn >= 0) {
      if (out.topic.words.empty()) out.topic.words = before.topic.words;
      if (!out.speaker && !speaks_of_all(asked)) out.speaker = before.speaker;
    }
    for (TimeConstraint& c : out.time.constraints)
      if (out.context_turn >= 0) c.begin = c.end = 0;
    if (out.time.empty() && out.topic.words.empty() && points_at_a_thing(asked)) thing_before(context, out);
    if (!out.time.unread.empty())
      out.notes.push_back(fmt::format("not understood as a time: '{}'", fmt::join(out.time.unread, "', '")));
    return out;
  }

 private:
  // 5/8 in German, French and Spanish is the fifth of August.
  DateOrder order_of(Language l) const {
    return l == Language::german || l == Language::french || l == Language::spanish ? DateOrder{.month_first = false}
                                                                                    : f_.clock.order;
  }
  // "the second half of it", "just the first week": of the month or the year that was meant, which is put into words.
  std::optional<std::string> in_frame(const std::string& text, const TimeWords& words, const TimeQuery& own,
                                      const CarriedTime& before) const {
    if (before.query.constraints.size() != 1 || before.query.constraints[0].ranges.size() != 1) return std::nullopt;
    const TimeConstraint& c = before.query.constraints[0];
    if (c.axis != Axis::date || c.anchor || (c.grain != Grain::month && c.grain != Grain::year)) return std::nullopt;
    const Civil first = civil(day_part(c.ranges[0].lo));
    const std::string frame = c.grain == Grain::month ? fmt::format(" of {} {}", month_name(first.month), first.year)
                                                      : fmt::format(" of {}", first.year);
    std::string out = text;
    for (const std::string_view it : {" of it", " of that month", " of that year"})
      if (const size_t at = out.find(it);
          at != out.npos &&
          (at + it.size() == out.size() || !std::isalpha(static_cast<unsigned char>(out[at + it.size()])))) {
        out.replace(at, it.size(), frame);
        return out;
      }
    if (!own.empty() || !elliptic(words)) return std::nullopt;
    out.insert(out.find_last_not_of("?.! ") + 1, frame);
    const TimeQuery framed = parse_time(out, f_.clock);
    const bool part = framed.constraints.size() == 1 && framed.unread.empty() &&
                      std::string_view(framed.constraints[0].name).find("of-period") != std::string_view::npos;
    return part ? std::optional(out) : std::nullopt;
  }

  // Each turn in its order, as a question of its own: one that names no time leaves the time as it was.
  Carried carried(const std::vector<ContextTurn>& context) const {
    Carried out;
    const size_t first = context.size() > kTurnsLookedAt ? context.size() - kTurnsLookedAt : 0;
    for (size_t i = first; i < context.size(); ++i) {
      const PlainWording plain = plain_wording(context[i].text, people_);
      EventTimes events = event_times(plain.text, order_of(plain.language), people_, f_);
      const std::string& text = events.asked;
      const TimeWords words = time_words(text, order_of(plain.language));
      TimeQuery own = parse_time(text, words, f_.clock);
      Topic topic = topic_of(text, own, people_);
      const bool by_event = !events.constraints.empty();
      for (TimeConstraint& c : events.constraints) own.constraints.push_back(std::move(c));
      auto next = by_event ? std::nullopt : follow_up(words, own, out.time, f_.table, f_.clock);
      if (next && next->replaces) own = std::move(next->query);
      if (own.empty()) continue;
      if (!elliptic(words)) out.topic = std::move(topic);
      const auto who = speaker_meant(text, f_.speakers, f_.asker);
      if (who || !elliptic(words)) out.speaker = who;
      out.time.year_named = names_a_year(words) || (out.time.year_named && next && next->replaces);
      own.notes.clear(), own.unread.clear(), own.faint.clear();
      out.time.query = std::move(own);
      out.turn = static_cast<int64_t>(i);
    }
    return out;
  }

  // "tell me more about it": the topic of the last three turns.
  void thing_before(const std::vector<ContextTurn>& context, ReadQuestion& out) const {
    for (size_t i = context.size(); i-- > 0 && i + 3 >= context.size() && out.topic.words.empty();) {
      out.topic = topic_of(context[i].text, {}, people_);
      if (!out.topic.words.empty()) out.context_turn = static_cast<int64_t>(i);
    }
  }

  const QuestionFrame& f_;
  std::vector<std::string> people_;
};

}  // namespace

ReadQuestion read_question(std::string_view question, const std::vector<ContextTurn>& context,
                           const QuestionFrame& frame) {
  return QuestionReader(frame).run(question, context);
}

}  // namespace quern::memory
