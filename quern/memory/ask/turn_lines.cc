#include "quern/memory/ask/turn_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "quern/memory/time/calendar.h"

namespace quern::memory {
namespace {

Json line_of(const TurnTable& t, const std::vector<std::string>& speakers, size_t row, std::string_view text) {
  Json j = Json::object();
  j.set("speaker", speakers[static_cast<size_t>(t.speaker[row])]), j.set("text", text);
  j.set("time", offset_time_text(t, row));
  j.set("response", int64_t{t.response[row]}), j.set("session", int64_t{t.session[row]});
  return j;
}

}  // namespace

std::string offset_time_text(const TurnTable& t, size_t row) {
  const int32_t o = std::abs(t.offset[row]);
  return fmt::format("{}{}{:02}:{:02}", time_text(t.local(row)), t.offset[row] < 0 ? '-' : '+', o / 3600,
                     o / 60 % 60);
}

Json turn_line(Memory& m, size_t row, std::string_view text) { return line_of(m.table(), m.speakers(), row, text); }

void each_turn_line(Memory& m, int32_t first, int64_t limit, const std::function<void(const Json&)>& f) {
  const TurnTable& t = m.table();
  const std::vector<std::string>& speakers = m.speakers();
  size_t next = t.rows_before(first);
  if (limit < 1 || next >= t.size()) return;
  const size_t last = std::min(t.size() - next, static_cast<size_t>(limit)) + next - 1;
  m.store().each_turn(m.info().id, t.response[t.by_number(next)], t.response[t.by_number(last)],
                      [&](int64_t id, std::string_view text) {
                        size_t at = next;
                        while (at <= last && t.id[t.by_number(at)] != id) ++at;  // others may have deleted turns
                        if (at > last) return;
                        next = at + 1;
                        f(line_of(t, speakers, t.by_number(at), text));
                      });
}

}  // namespace quern::memory
