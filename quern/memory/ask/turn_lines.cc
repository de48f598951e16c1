#include "quern/memory/ask/turn_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "quern/memory/time/calendar.h"

namespace quern::memory {

void each_turn_line(Memory& m, int32_t first, int64_t limit, const std::function<void(const Json&)>& f) {
  const TurnTable& t = m.table();
  auto row = static_cast<size_t>(std::ranges::lower_bound(t.response, first) - t.response.begin());
  if (limit < 1 || row >= t.response.size()) return;
  const size_t last = std::min(t.response.size() - row, static_cast<size_t>(limit)) + row - 1;
  m.store().each_turn(m.info().id, t.response[row], t.response[last], [&](int64_t id, std::string_view text) {
    size_t at = row;
    while (at <= last && t.id[at] != id) ++at;  // another process may have deleted turns since the table was read
    if (at > last) return;
    row = at;
    const int32_t o = std::abs(t.offset[row]);
    Json j = Json::object();
    j.set("speaker", m.speakers()[static_cast<size_t>(t.speaker[row])]), j.set("text", text);
    j.set("time", fmt::format("{}{}{:02}:{:02}", time_text(t.local(row)), t.offset[row] < 0 ? '-' : '+', o / 3600,
                              o / 60 % 60));
    j.set("response", int64_t{t.response[row]}), j.set("session", int64_t{t.session[row]});
    f(j);
    ++row;
  });
}

}  // namespace quern::memory
