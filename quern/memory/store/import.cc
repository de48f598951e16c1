#include "quern/memory/store/import.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/text/unicode/utf8.h"

namespace quern::memory {

SpokenTurn at_time(std::string speaker, std::string text, const WrittenTime& time, const Zone& zone) {
  SpokenTurn t{std::move(speaker), std::move(text), 0, 0};
  t.utc = time.offset ? time.local - *time.offset : zone.to_utc(time.local);
  t.offset = time.offset ? *time.offset : zone.offset_at(t.utc);
  return t;
}

// "01:56:04 AM on Monday 08 May, 2023"
LocalSeconds parse_tmd_time(std::string_view text, std::string_view where) {
  const std::string s(text.substr(0, 80));
  int h = 0, m = 0, sec = 0, day = 0, year = 0;
  char half[3] = {}, weekday[16] = {}, month[16] = {};
  const int n = std::sscanf(s.c_str(), "%2d:%2d:%2d %2[AaPpMm] on %15[A-Za-z] %2d %15[A-Za-z], %4d", &h, &m, &sec,
                            half, weekday, &day, month, &year);
  int number = 0;
  for (int k = 1; k <= 12; ++k)
    if (std::string_view(month) == month_name(k)) number = k;
  const bool clock = h >= 1 && h <= 12 && m >= 0 && m < 60 && sec >= 0 && sec < 60 && half[1] != 0;
  if (n != 8 || number == 0 || !clock || !date_exists(year, number, day))
    fail("{}: date_time '{}', expected like \"01:56:04 AM on Monday 08 May, 2023\"", where, s);
  const bool pm = half[0] == 'P' || half[0] == 'p';
  return day_of(year, number, day) * kDaySeconds + (h % 12 + (pm ? 12 : 0)) * 3600 + m * 60 + sec;
}

std::vector<SpokenTurn> read_tmd(const std::filesystem::path& file, const Zone& zone) {
  const Json j = Json::read(file);
  if (!j.is_object() || !j.find("session_1"))
    fail("{}: expected an object with session_1, session_2 …", file.string());
  std::vector<SpokenTurn> out;
  for (int session = 1;; ++session) {
    const std::string key = fmt::format("session_{}", session);
    const Json* turns = j.find(key);
    if (!turns) break;
    int number = 0;
    for (const Json& t : turns->as_array(key)) {
      const std::string where = fmt::format("{}: {}[{}]", file.string(), key, number++);
      const WrittenTime time{parse_tmd_time(t.at("date_time", where).as_string(where), where)};
      out.push_back(
          at_time(t.at("speaker", where).as_string(where), t.at("text", where).as_string(where), time, zone));
      if (const Json* n = t.find("response_number");
          n && n->is_string() && n->as_string() != std::to_string(out.size() - 1))
        fail("{}: response_number {}, expected {}", where, n->as_string(), out.size() - 1);
    }
  }
  return out;
}

namespace {

// An export says in which order its turns arrived; other lines are numbered by their times, whatever their order.
std::vector<SpokenTurn> in_order_of_arrival(std::vector<SpokenTurn>& turns,
                                            const std::vector<std::optional<int64_t>>& responses) {
  const bool numbered = std::all_of(responses.begin(), responses.end(), [](const auto& r) { return r.has_value(); });
  std::vector<size_t> order(turns.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return numbered ? *responses[a] < *responses[b] : turns[a].utc < turns[b].utc;
  });
  std::vector<SpokenTurn> out;
  out.reserve(turns.size());
  for (const size_t i : order) out.push_back(std::move(turns[i]));
  return out;
}

}  // namespace

std::vector<ImportedConversation> read_conversations(const std::filesystem::path& file, const std::string& zone) {
  std::ifstream f(file, std::ios::binary);
  if (!f) fail("cannot open {}", file.string());
  std::vector<ImportedConversation> out;
  std::map<std::pair<std::string, std::string>, size_t> known;  // by user and name
  std::vector<Zone> zones;
  std::vector<std::vector<std::optional<int64_t>>> responses;
  int64_t number = 0;
  for (std::string line; std::getline(f, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = fmt::format("{}:{}", file.string(), number);
    if (const size_t bad = text::utf8_error(line); bad != line.npos)
      fail("{}: not valid UTF-8 at byte {}", where, bad);
    const Json j = Json::parse(line, where);
    const auto text_at = [&](const char* key) {
      const Json* value = j.find(key);
      return value && !value->is_null() ? value->as_string(where + ": " + key) : std::string();
    };
    const std::string name = text_at("conversation"), user = text_at("user");
    if (text_at("text").find_first_not_of(" \t\r\n\f\v") == std::string::npos && j.find("text"))
      fail("{}: \"text\" is empty: expected what was said", where);
    const auto [at, fresh] = known.try_emplace({user, name}, out.size());
    if (fresh) {
      out.push_back({name, user, text_at("zone"), {}});
      zones.push_back(Zone::load(out.back().zone.empty() ? zone : out.back().zone));
      responses.emplace_back();
    }
    const Json* response = j.find("response");
    responses[at->second].push_back(response ? std::optional(response->as_int(where + ": response")) : std::nullopt);
    out[at->second].turns.push_back(
        at_time(j.at("speaker", where).as_string(where), j.at("text", where).as_string(where),
                parse_time_text(j.at("time", where).as_string(where), where + ": time"), zones[at->second]));
  }
  if (f.bad()) fail("cannot read {}", file.string());
  for (size_t i = 0; i < out.size(); ++i) out[i].turns = in_order_of_arrival(out[i].turns, responses[i]);
  return out;
}

}  // namespace quern::memory
