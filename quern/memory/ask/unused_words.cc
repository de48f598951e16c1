#include "quern/memory/ask/unused_words.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern::memory {

const LinkWord* link_of(const std::vector<LinkWord>& links, LinkKind kind) {
  const auto at = std::find_if(links.begin(), links.end(), [&](const LinkWord& l) { return l.kind == kind; });
  return at == links.end() ? nullptr : &*at;
}

namespace {

size_t times_named(const TimeQuery& time) {
  size_t n = 0;
  for (const TimeConstraint& c : time.constraints) n += std::max<size_t>(c.ranges.size(), 1);
  return n;
}

// How the question stands to the one before it.
void unused_reference(const std::vector<LinkWord>& links, const ReadingUse& use, std::vector<std::string>& out) {
  const LinkWord* opener = link_of(links, LinkKind::opener);
  const LinkWord* pointer = link_of(links, LinkKind::pointer);
  const LinkWord* step = link_of(links, LinkKind::step);
  const LinkWord* refers = pointer ? pointer : step;
  if (!use.history) {
    if (use.said_missing) return;
    if (refers && !use.names_time)
      out.push_back(
          fmt::format("'{}' refers to an earlier question, and none with a time came before", refers->words));
    else if (opener && !use.took_thing)
      out.push_back(
          fmt::format("'{}' continues an earlier question, and none came before: read on its own", opener->words));
    return;
  }
  if (!use.took_time && refers)
    out.push_back(fmt::format("'{}' was not taken from the question before", refers->words));
  else if (use.repeats && (opener || step) && !use.stepped)
    out.push_back("nothing changes the question before: its time is kept");
  else if (opener && !use.took_time && !use.took_thing && !use.complete)
    out.push_back(fmt::format("'{}' continues an earlier question: read on its own", opener->words));
}

}  // namespace

std::vector<std::string> unused_words(const std::vector<LinkWord>& links, const TimeQuery& time,
                                      const ReadingUse& use) {
  std::vector<std::string> out;
  unused_reference(links, use, out);
  if (const LinkWord* l = link_of(links, LinkKind::person); l && !use.named_speaker)
    out.push_back(fmt::format("'{}' names no one who was named before: the turns of all are meant", l->words));
  const auto except = [](const TimeConstraint& c) { return c.join == TimeJoin::except; };
  const bool told = std::any_of(time.unread.begin(), time.unread.end(),
                                [](const std::string& words) { return speaks_of_exception(words); });
  if (const LinkWord* l = link_of(links, LinkKind::exception);
      l && !told && !use.speaker_left_out && std::none_of(time.constraints.begin(), time.constraints.end(), except))
    out.push_back(fmt::format("'{}' was not understood as an exception: nothing is left out", l->words));
  if (const LinkWord* l = link_of(links, LinkKind::comparison);
      l && times_named(time) < 2 &&
      std::none_of(time.unread.begin(), time.unread.end(), [](const std::string& words) {
        return words.find("est") != words.npos || words.find("than") != words.npos;
      }))
    out.push_back(fmt::format("'{}': nothing is compared", l->words));
  return out;
}

std::vector<std::string> denied_times(std::string_view asked, const TimeWords& words, const TimeQuery& time) {
  std::vector<std::string> out;
  const auto small = [](std::string_view w) {
    for (const std::string_view s :
         {"a", "an", "the", "on", "in", "from", "at", "of", "during", "any", "this", "that", "to", "for"})
      if (w == s) return true;
    return false;
  };
  for (size_t i = 0; i < words.tokens.size(); ++i) {
    const std::string_view w = words.spelling(i);
    if (w != "not" && !w.ends_with("n't")) continue;
    size_t k = i + 1;
    while (k < words.tokens.size() && k < i + 4 && small(words.spelling(k))) ++k;
    if (k >= words.tokens.size()) continue;
    const uint32_t at = words.tokens[k].begin;
    for (const TimeConstraint& c : time.constraints)
      if (c.join != TimeJoin::except && c.begin <= at && at < c.end && c.begin > words.tokens[i].begin)
        out.push_back(fmt::format("'{}' is not left out: all its turns are meant",
                                  asked.substr(words.tokens[i].begin, c.end - words.tokens[i].begin)));
  }
  return out;
}

}  // namespace quern::memory
