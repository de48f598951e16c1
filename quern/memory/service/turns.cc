#include "quern/memory/service/turns.h"

#include <algorithm>
#include <chrono>

#include "quern/base/error.h"

namespace quern::memory {
namespace {

constexpr int64_t kClockSlack = 120;  // seconds that clocks of two machines may differ

}  // namespace

int64_t seconds_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::vector<AddedTurn> add_turns(Memory& m, const std::vector<SpokenTurn>& turns, int64_t utc_now) {
  const std::vector<StoredTurn> stored = turns.size() == 1 ? std::vector{m.add(turns[0])} : m.add_all(turns);
  std::vector<AddedTurn> out;
  for (size_t i = 0; i < stored.size(); ++i) {
    AddedTurn a{stored[i], {}};
    if (turns[i].utc > utc_now + kClockSlack)
      a.notes.push_back(fmt::format("its time, {}, is ahead of this machine's clock: questions find it from then on",
                                    time_text(turns[i].utc + turns[i].offset)));
    if (stored[i].late)
      a.notes.push_back(stored[i].moved_sessions
                            ? "it is earlier than other turns: it stands where its time belongs, and the sessions "
                              "after it may have other numbers now"
                            : "it is earlier than other turns: it stands where its time belongs");
    out.push_back(std::move(a));
  }
  return out;
}

FoundTurns find_turns(Memory& m, std::string_view question, const AskOptions& options) {
  FoundTurns out{.turns = {}, .notes = {}, .result = m.ask(question, options)};
  const TurnTable& t = m.table();
  std::vector<int32_t> numbers = out.result.responses;
  const auto k = static_cast<size_t>(options.k);
  out.notes = out.result.notes;
  if (numbers.size() > k) {
    out.notes.push_back(fmt::format("{} match; these are {} of them: raise k or name a shorter time",
                                    counted_text(numbers.size(), "turn"), k));
    numbers.resize(k);
  }
  for (const int32_t number : numbers) {
    FoundTurn f{.row = t.row_of(number).value()};
    for (const RankedTurn& r : out.result.ranked)
      if (r.response == number) f.score = r.score;
    out.turns.push_back(f);
  }
  std::sort(out.turns.begin(), out.turns.end(), [](const FoundTurn& a, const FoundTurn& b) { return a.row < b.row; });
  return out;
}

std::vector<int32_t> chosen_turns(Memory& m, const TurnChoice& c) {
  const TurnTable& t = m.table();
  std::vector<int32_t> out;
  for (size_t row = 0; row < t.size(); ++row)
    if ((c.response && t.response[row] == *c.response) || (c.session && t.session[row] == *c.session) ||
        (c.before && t.utc[row] < *c.before))
      out.push_back(t.response[row]);
  return out;
}

WallTime wall_time(const std::optional<std::string>& text, const char* what, const Zone& zone) {
  int64_t utc = 0;
  if (!text) {
    utc = seconds_now();
  } else {
    const WrittenTime t = parse_time_text(*text, what);
    if (!t.offset) return {t.local, static_cast<int32_t>(t.local - zone.to_utc(t.local))};
    utc = t.local - *t.offset;
  }
  return {zone.to_local(utc), zone.offset_at(utc)};
}

}  // namespace quern::memory
