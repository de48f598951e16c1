#include "quern/memory/ask/read_question.h"

#include <algorithm>
#include <cctype>

#include "quern/base/error.h"
#include "quern/memory/ask/event_times.h"
#include "quern/memory/ask/follow_up.h"
#include "quern/memory/ask/speaker_meant.h"
#include "quern/memory/ask/unknown_speaker.h"
#include "quern/memory/ask/unused_words.h"
#include "quern/memory/facts/foreign_facts.h"
#include "quern/memory/wording/table.h"
#include "quern/memory/wording/wording.h"
#include "quern/recall/words/tokens.h"
#include "quern/text/unicode/ascii_case.h"

namespace quern::memory {
namespace {

using text::ascii_lowercase;

constexpr size_t kTurnsLookedAt = 20;  // of the context, the newest

// What the questions before this one left: a time, the topic and speaker of the newest, and the turn that said it.
struct Carried {
  CarriedTime time;
  Topic topic;
  std::optional<int32_t> speaker;
  int64_t turn = -1;
  std::vector<std::string> unread;  // what was not understood of the questions that said the time
  int64_t thing_turn = -1;          // that said the topic and the speaker, with or without a time
};

class QuestionReader {
 public:
  QuestionReader(const QuestionFrame& frame) : f_(frame) {
    for (const std::string& s : f_.speakers)
      recall::for_each_word(
          s, [&](size_t b, size_t e) { people_.push_back(ascii_lowercase(std::string_view(s).substr(b, e - b))); });
    for (size_t i = people_.size(); i-- > 0;) people_.push_back(people_[i] + "s");   // Adas Nachrichten
    for (const std::string& s : f_.speakers) people_.push_back(ascii_lowercase(s));  // 李娜: a word of several
  }

  ReadQuestion run(std::string_view question, const std::vector<ContextTurn>& context) {
    const Carried before = carried(context);
    ReadQuestion out;
    std::vector<std::string> slips;
    PlainWording plain = plain_wording(with_names_mended(question, f_.speakers, slips), people_);
    out.text = with_turns_counted(plain.text, order_of(plain.language)), out.notes = std::move(plain.notes);
    out.notes.insert(out.notes.end(), slips.begin(), slips.end());
    const DateOrder order = order_of(plain.language);
    EventTimes events = event_times(out.text, order, people_, f_);
    for (std::string& n : events.notes) out.notes.push_back(std::move(n));
    out.text = std::move(events.text);
    Asked q{.text = std::move(events.asked), .by_event = !events.constraints.empty()};
    q.words = time_words(q.text, order);
    q.own = parse_time(q.text, q.words, f_.clock);
    if (auto framed = in_frame(q.text, q.words, q.own, before.time)) {
      q.text = out.text = std::move(*framed), out.context_turn = before.turn;
      q.words = time_words(q.text, order), q.own = parse_time(q.text, q.words, f_.clock);
    }
    out.topic = topic_of(q.text, q.own, people_);
    take_occurrence(q, out);
    out.speaker = speaker_meant(q.text, f_.speakers, f_.asker);
    name_strangers(q, out);
    out.foreign_fact = asks_fact_elsewhere(folded(question)) && !of_talk(q.words);
    if (!of_talk(q.words)) out.asked = question;
    for (TimeConstraint& c : events.constraints) q.own.constraints.push_back(std::move(c));
    for (std::string& n : denied_times(q.text, q.words, q.own)) out.notes.push_back(std::move(n));
    const std::vector<LinkWord> links = link_words(question, plain.language);
    q.person = link_of(links, LinkKind::person) != nullptr;
    ReadingUse use = go_on(q, before, out);
    if (use.took_time && !before.unread.empty())
      out.notes.push_back(fmt::format("not understood in a question before: '{}'", fmt::join(before.unread, "', '")));
    if (out.time.empty() && out.topic.words.empty() && points_at_a_thing(q.text)) thing_before(context, out);
    use.speaker_left_out = take_out_speaker(q, out);
    if (!use.took_time && !out.time.empty() &&
        std::ranges::all_of(out.time.constraints, [](const TimeConstraint& c) { return c.join == TimeJoin::except; }))
      out.notes.push_back("only what is left out is named: all other turns are meant");
    for (std::string& n : unused_words(links, out.time, use)) out.notes.push_back(std::move(n));
    if (!out.time.unread.empty())
      out.notes.push_back(fmt::format("not understood as a time: '{}'", fmt::join(out.time.unread, "', '")));
    return out;
  }

 private:
  struct Asked {
    std::string text;  // in plain English
    TimeWords words = {};
    TimeQuery own = {};
    bool by_event = false, person = false;  // person: "she", "hat er"
  };

  // "the last three from Anna", "Anna's last three": messages.
  std::string with_turns_counted(const std::string& text, DateOrder order) const {
    const TimeWords words = time_words(text, order);
    const auto& t = words.tokens;
    const auto person = [&](size_t i) {
      if (i >= t.size()) return false;
      std::string_view w = words.spelling(i);
      if (w.ends_with("'s")) w.remove_suffix(2);
      return std::find(people_.begin(), people_.end(), w) != people_.end();
    };
    for (size_t i = 0; i < t.size(); ++i) {
      const bool nth = t[i].lex == Lex::ordinal && !t[i].digits;
      if (t[i].word != Word::last && t[i].word != Word::first && !nth) continue;
      size_t k = i + 1;
      const bool many = k < t.size() && t[k].lex == Lex::number;
      if (many) ++k;
      const bool from = k + 1 < t.size() && (t[k].word == Word::from || t[k].word == Word::by) && person(k + 1);
      const bool hers = i > 0 && person(i - 1) && words.spelling(i - 1).ends_with("'s") && k == t.size();
      if (!from && !hers) continue;
      return text.substr(0, t[k - 1].end) + (many ? " messages" : " message") + text.substr(t[k - 1].end);
    }
    return text;
  }

  // "when did we first talk about the roof": not a session that is counted.
  void take_occurrence(Asked& q, ReadQuestion& out) const {
    const OccurrenceAsked asked = occurrence_asked(q.words);
    if (asked.unused) {
      out.notes.push_back(fmt::format("'{}' was not used: turns are ranked by their words",
                                      q.text.substr(asked.begin, asked.end - asked.begin)));
      return;
    }
    if (asked.which == Occurrence::none) return;
    TimeQuery own = q.own;
    take_back(asked, q.text, own);
    Topic topic = topic_of(q.text, own, people_);
    if (topic.words.empty()) return;
    q.own = std::move(own), out.topic = std::move(topic), out.occurrence = asked;
  }

  // Names in the place of a speaker, or of the one who asks, that no speaker has.
  void name_strangers(const Asked& q, ReadQuestion& out) const {
    if (const auto stranger = unknown_speaker(q.text, q.words, people_); stranger && !f_.speakers.empty()) {
      if (out.speaker && !speaker_left_out(q.text, f_.speakers) &&
          !names_speakers(q.text.substr(0, q.text.find(*stranger))))
        out.speaker.reset();  // "what did Peter tell Ada?"
      out.notes.push_back(
          fmt::format("no speaker is called '{}'{}", *stranger, out.speaker ? "" : ": the turns of all are meant"));
    }
    if (f_.asker.empty() || f_.speakers.empty() ||
        std::find(f_.speakers.begin(), f_.speakers.end(), f_.asker) != f_.speakers.end())
      return;
    for (size_t i = 0; i < q.words.tokens.size(); ++i)
      if (const std::string_view w = q.words.spelling(i); w == "i" || w == "my" || w == "mine" || w == "myself") {
        out.notes.push_back(fmt::format("no speaker is called '{}': “I” and “my” are no speaker's", f_.asker));
        return;
      }
  }

  static bool of_talk(const TimeWords& words) {
    return std::any_of(words.tokens.begin(), words.tokens.end(), [](const Token& t) {
      return t.word == Word::mention || (t.word == Word::talk && t.lex == Lex::other);
    });
  }

  // What the reading takes over from the questions before it.
  ReadingUse go_on(const Asked& q, const Carried& before, ReadQuestion& out) const {
    ReadingUse use{.history = !before.time.empty(), .complete = !verbless(q.words), .names_time = !q.own.empty()};
    use.took_time = out.context_turn >= 0;
    out.time = q.own;
    const bool brief = elliptic(q.words);
    if (auto next = q.by_event ? std::nullopt : follow_up(q.words, q.own, before.time, f_.table, f_.clock)) {
      use.said_missing = next->missing && before.time.empty();
      if (use.said_missing) out.notes.push_back("refers to an earlier question, and none with a time came before");
      if (next->replaces) {
        use.took_time = use.stepped = true;
        out.time = std::move(next->query), out.context_turn = before.turn;
        std::erase_if(out.topic.words, [&](const std::string& w) {  // "and four days before?"
          for (size_t i = 0; i < q.words.tokens.size(); ++i)
            if (next->used[i] && q.words.spelling(i) == w) return true;
          return false;
        });
        for (std::string& w : timely_words_left(q.text, q.words, next->used)) out.time.unread.push_back(std::move(w));
      }
    } else if (q.own.empty() && !before.time.empty() &&
               (out.topic.words.empty() || brief || points_at_a_time(q.text))) {
      use.took_time = true;
      out.time = before.time.query, out.context_turn = before.turn;
      for (const std::string& n : q.own.notes) out.time.notes.push_back(n);
      out.time.unread = q.own.unread;
      out.time.unread.insert(out.time.unread.end(), q.own.faint.begin(), q.own.faint.end());
    } else if (brief && !q.by_event) {
      if (const auto part = part_of_another_time(q.words, q.own, before.time, f_.table, f_.clock))
        out.notes.push_back(fmt::format("'{}' is no part of the time of the question before: read on its own",
                                        q.text.substr(part->begin, part->end - part->begin)));
    }
    const bool own_only = !use.took_time && brief && verbless(q.words) && before.thing_turn >= 0 && use.names_time;
    if (brief && ((out.context_turn >= 0 && before.turn >= 0) || own_only)) {
      const bool topic = out.topic.words.empty() && !before.topic.words.empty();
      const bool speaker = !out.speaker && before.speaker && (q.person || !speaks_of_all(q.text));
      if (topic) out.topic.words = before.topic.words;
      if (speaker) out.speaker = before.speaker;
      use.took_thing = topic || speaker;
      if (own_only && use.took_thing) out.context_turn = before.thing_turn;
    }
    if (own_only && use.history) use.took_thing = true;  // it had nothing else to take
    if (q.person && !out.speaker && before.speaker && !names_speakers(q.text)) {
      out.speaker = before.speaker, use.took_thing = true;
      if (out.context_turn < 0) out.context_turn = before.thing_turn;
    }
    use.named_speaker = out.speaker || names_speakers(q.text);
    for (TimeConstraint& c : out.time.constraints)
      if (out.context_turn >= 0) c.begin = c.end = 0;
    use.repeats = use.took_time && same_times(out.time, before.time.query) && out.speaker == before.speaker &&
                  out.topic.words == before.topic.words;
    return use;
  }

  bool names_speakers(const std::string& text) const {
    bool found = false;
    recall::for_each_word(text, [&](size_t b, size_t e) {
      found |= std::find(people_.begin(), people_.end(), ascii_lowercase(std::string_view(text).substr(b, e - b))) !=
               people_.end();
    });
    return found;
  }

  static bool same_times(const TimeQuery& a, const TimeQuery& b) {
    return std::equal(a.constraints.begin(), a.constraints.end(), b.constraints.begin(), b.constraints.end(),
                      [](const TimeConstraint& x, const TimeConstraint& y) {
                        return x.axis == y.axis && x.join == y.join && x.ranges == y.ranges &&
                               x.from_end == y.from_end && x.anchor == y.anchor;
                      });
  }

  // "everything except Ines's messages": the others' turns are meant. Nothing else of the exception may be left.
  bool take_out_speaker(const Asked& q, ReadQuestion& out) const {
    const auto place = speaker_left_out(q.text, f_.speakers);
    if (!place) return false;
    for (const TimeConstraint& c : q.own.constraints)
      if (c.begin >= place->end) {
        const auto earlier = std::find_if(q.own.constraints.begin(), q.own.constraints.end(),
                                          [&](const TimeConstraint& o) { return o.end <= place->begin; });
        if (earlier != q.own.constraints.end()) return false;  // "… except Ines's messages on Tuesday"
      }
    std::erase_if(out.time.unread,
                  [&](const std::string& words) { return q.text.compare(place->begin, words.size(), words) == 0; });
    if (f_.speakers.size() > 2) out.left_out = place->speaker;
    return true;
  }

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
      std::vector<std::string> unread =
          next && next->replaces ? timely_words_left(text, words, next->used) : own.unread;
      if (next && next->replaces) {
        unread.insert(unread.begin(), out.unread.begin(), out.unread.end());
        own = std::move(next->query);
      }
      const auto who = speaker_meant(text, f_.speakers, f_.asker);
      if (own.empty()) {
        const bool asks =
            context[i].text.find('?') != std::string::npos || context[i].text.find("？") != std::string::npos;
        if (!asks || elliptic(words) || (topic.words.empty() && !who)) continue;
        out.topic = std::move(topic), out.speaker = who, out.thing_turn = static_cast<int64_t>(i);
        continue;
      }
      out.thing_turn = static_cast<int64_t>(i);
      if (!elliptic(words)) out.topic = std::move(topic);
      if (who || !elliptic(words)) out.speaker = who;
      out.time.session_named = names_a_session(words) || (out.time.session_named && next && next->replaces);
      out.time.year_named = names_a_year(words) || (out.time.year_named && next && next->replaces);
      out.unread = std::move(unread);
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
