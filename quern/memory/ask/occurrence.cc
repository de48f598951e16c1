#include "quern/memory/ask/occurrence.h"

#include <algorithm>
#include <initializer_list>

namespace quern::memory {
namespace {

class OccurrenceReader {
 public:
  explicit OccurrenceReader(const TimeWords& words) : w_(words), n_(words.tokens.size()) {}

  OccurrenceAsked run() const {
    if (const OccurrenceAsked counted = count(); counted.which != Occurrence::none) return counted;
    using enum OccurrenceWanted;
    const bool when = asks_when(), who = any_of(0, {"who", "which"});
    for (size_t i = 0; i < n_; ++i) {
      size_t j = i;
      const Occurrence which = order(j);
      if (which == Occurrence::none) continue;
      if (said(j, "time") || said(j, "times") || said(j, "occasion")) {
        const size_t verb = talking(j + 1, j + 6);
        if (verb < n_ && (when || of_a_thing(verb + 1))) return asked(which, when ? turn : talk, i, verb + 1);
        if (verb == n_ && when && talking(0, i) < i)
          return asked(which, when ? turn : talk, i, j + 1);  // "… for the first time"
        continue;
      }
      if (talks(j) && (when || who) && subject(i)) return asked(which, turn, i, j + 1);
      // as other languages have it: "when did we first of the roof talked"
      if (when && subject(i) && any_of(j, {"of", "about", "over", "from", "on"}) && talking(0, n_) < n_)
        return asked(which, turn, i, j);
      if (said(j, "to") && talks(j + 1) && who) return asked(which, turn, i, j + 2);
      if ((when || who) && clause_end(j) && talking(0, i) < i) return asked(which, turn, i, j);
      if (when && which == Occurrence::first && subject(i) && any_of(1, {"did", "do", "does", "have", "has", "had"}))
        return {.begin = w_.tokens[i].begin, .end = w_.tokens[i].end, .unused = true};
    }
    return {};
  }

 private:
  bool said(size_t i, std::string_view s) const { return i < n_ && w_.spelling(i) == s; }
  bool any_of(size_t i, std::initializer_list<std::string_view> words) const {
    return std::any_of(words.begin(), words.end(), [&](std::string_view s) { return said(i, s); });
  }
  bool clause_end(size_t i) const {
    return i >= n_ || w_.tokens[i].starts || w_.tokens[i].before == ',' || w_.tokens[i].before == ':';
  }

  bool talks(size_t i) const {
    if (i >= n_) return false;
    const Token& t = w_.tokens[i];
    return t.word == Word::talk || t.word == Word::mention ||
           any_of(i, {"bring", "brought", "raise", "raised", "come", "came", "hear", "heard", "write", "wrote",
                      "tell", "ask", "asked", "text", "texted", "touch", "touched", "discussing", "mentioning"});
  }
  // The first such word of these places; n_: none.
  size_t talking(size_t from, size_t to) const {
    for (size_t i = from; i < std::min(to, n_); ++i)
      if (talks(i)) return i;
    return n_;
  }

  // "first", "for the first time", "last", "most recent(ly)": moves i behind it.
  Occurrence order(size_t& i) const {
    if (said(i, "first") || said(i, "earliest")) return ++i, Occurrence::first;
    if (any_of(i, {"last", "latest", "lastly"})) return ++i, Occurrence::last;
    if (said(i, "most") && any_of(i + 1, {"recent", "recently"})) return i += 2, Occurrence::last;
    return Occurrence::none;
  }

  bool asks_when() const {
    const size_t i = any_of(0, {"and", "so", "but"}) ? 1 : 0;
    if (any_of(i, {"when", "since"}) || said(n_ - 1, "when")) return true;
    if (said(i, "how") && said(i + 1, "long")) return true;
    const size_t k = any_of(i, {"on", "in", "at"}) ? i + 1 : i;
    return any_of(k, {"what", "which"}) && any_of(k + 1, {"day", "date", "month", "year", "time", "week", "session"});
  }

  // Somebody stands in front: "did we first", "has Ada last"; or it asks for somebody: "who first mentioned".
  bool subject(size_t i) const { return i > 0 && !any_of(i - 1, {"the", "a", "our", "my", "your", "very"}); }

  // "the first time we talked about the roof", and not "the first time we talked in May"
  bool of_a_thing(size_t i) const {
    if (any_of(i, {"up", "over"})) ++i;
    if (clause_end(i)) return false;
    return any_of(i, {"about", "of", "regarding", "the", "a", "an", "my", "our", "your", "his", "her", "their"}) &&
           !(i + 1 < n_ && (w_.tokens[i + 1].lex == Lex::month || w_.tokens[i + 1].lex == Lex::weekday ||
                            w_.tokens[i + 1].lex == Lex::unit));
  }

  OccurrenceAsked count() const {
    for (size_t i = 0; i + 1 < n_; ++i) {
      if (!said(i, "how")) continue;
      const size_t end = said(i + 1, "often") ? i + 2 : said(i + 1, "many") && said(i + 2, "times") ? i + 3 : 0;
      if (end && talking(0, n_) < n_)
        return {.which = Occurrence::count, .begin = w_.tokens[i].begin, .end = w_.tokens[end - 1].end};
    }
    return {};
  }

  OccurrenceAsked asked(Occurrence which, OccurrenceWanted wanted, size_t from, size_t to) const {
    return {.which = which, .wanted = wanted, .begin = w_.tokens[from].begin, .end = w_.tokens[to - 1].end};
  }

  const TimeWords& w_;
  size_t n_;
};

}  // namespace

OccurrenceAsked occurrence_asked(const TimeWords& words) { return OccurrenceReader(words).run(); }

void take_back(const OccurrenceAsked& asked, std::string_view text, TimeQuery& time) {
  const std::string_view said = text.substr(asked.begin, asked.end - asked.begin);
  std::erase_if(time.constraints, [&](const TimeConstraint& c) {
    return c.begin < asked.end && c.end > asked.begin && (c.axis == Axis::session || c.axis == Axis::response);
  });
  std::erase_if(time.unread, [&](const std::string& words) { return said.find(words) != said.npos; });
  std::erase_if(time.faint, [&](const std::string& words) { return said.find(words) != said.npos; });
}

}  // namespace quern::memory
