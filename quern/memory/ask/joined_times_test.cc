// Unions, exceptions, halves, quarters and shared years, by the turns that a question gets: tests/memory/joined_times.txt.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/mmap.h"
#include "quern/memory/ask/memory.h"

namespace quern::memory {
namespace {

using Turns = std::set<int32_t>;

// Seven chats of two turns a day, from 2021 until now.
class JoinedTimes : public testing::Test {
 protected:
  JoinedTimes() : m_(":memory:", {.create = true, .conversation = "c"}) {
    std::vector<SpokenTurn> turns;
    for (LocalSeconds day = parse_time_text("2021-01-01 00:00", "t").local; day <= kNow; day += kDaySeconds)
      for (const int hour : {1, 6, 9, 14, 18, 20, 23})
        for (int turn = 0; turn < 2; ++turn)
          if (const LocalSeconds at = day + hour * 3600 + 1800 + turn * 60; at <= kNow)
            turns.push_back({turn ? "Ben" : "Ada", "x", at, 0});
    m_.add_all(turns);
  }

  // LO..HI or a day; with h9-12 those hours of it; first@, last@, n3@: a chat that begins there.
  Turns turns_of(std::string item) {
    std::string chat;
    int from_hour = 0, to_hour = 24;
    if (const size_t at = item.find('@'); at != item.npos) {
      chat = item.substr(0, at), item = item.substr(at + 1);
    } else if (const size_t h = item.find('h'); h != item.npos) {
      from_hour = std::stoi(item.substr(h + 1)), to_hour = std::stoi(item.substr(item.rfind('-') + 1));
      item.resize(h);
    }
    const size_t dots = item.find("..");
    const auto day = [](const std::string& s) { return day_part(parse_time_text(s + " 00:00", "test").local); };
    const Day lo = day(item.substr(0, dots)), hi = dots == item.npos ? lo : day(item.substr(dots + 2));
    const TurnTable& t = m_.table();
    Turns out;
    std::set<int32_t> sessions;
    for (size_t row = 0; row < t.size(); ++row) {
      const int hour = second_part(t.local(row)) / 3600;
      if (const Day d = day_part(t.local(row)); d < lo || d > hi || hour < from_hour || hour >= to_hour) continue;
      out.insert(t.response[row]), sessions.insert(t.session[row]);
    }
    if (chat.empty() || sessions.empty()) return out;
    const int32_t wanted = chat == "first"  ? *sessions.begin()
                           : chat == "last" ? *sessions.rbegin()
                                            : *std::next(sessions.begin(), std::stoi(chat.substr(1)) - 1);
    out.clear();
    for (size_t row = 0; row < t.size(); ++row)
      if (t.session[row] == wanted) out.insert(t.response[row]);
    return out;
  }

  static inline const LocalSeconds kNow = parse_time_text("2024-03-14 15:20", "now").local;  // a Thursday
  Memory m_;
};

TEST_F(JoinedTimes, AreTheTurnsThatAreMeant) {
  std::istringstream lines(read_file(std::string(QUERN_SOURCE_DIR) + "/tests/memory/joined_times.txt"));
  int questions = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    ASSERT_NE(tab, line.npos) << line;
    Turns expected;
    std::istringstream items(line.substr(0, tab));
    for (std::string item; items >> item;) {
      const bool taken_away = item[0] == '-';
      for (const int32_t turn : turns_of(taken_away ? item.substr(1) : item))
        if (taken_away)
          expected.erase(turn);
        else
          expected.insert(turn);
    }
    AskOptions o;
    o.now = kNow;
    const MemoryResult r = m_.ask(line.substr(tab + 1), o);
    EXPECT_EQ(r.route, Route::time) << line;
    EXPECT_EQ(Turns(r.responses.begin(), r.responses.end()), expected)
        << line << "\n" << r.plan.text().substr(0, 300) << "\n" << fmt::format("{}", fmt::join(r.notes, "; "));
    ++questions;
  }
  EXPECT_GT(questions, 15);
}

}  // namespace
}  // namespace quern::memory
