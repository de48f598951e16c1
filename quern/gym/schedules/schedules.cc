// Environment `schedules`: a time of a day when d / 2 + 2 people are all free. Every such time is accepted.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kOpens = 8 * 60, kCloses = 18 * 60, kGrid = 15;  // minutes after midnight

struct TimeSpan {
  int64_t from, to;
};

std::string clock(int64_t minutes) { return fmt::format("{}:{:02}", minutes / 60, minutes % 60); }

std::string text_of(const std::vector<TimeSpan>& spans) {
  std::string s;
  for (const TimeSpan& t : spans) s += fmt::format("{}{}-{}", s.empty() ? "" : ", ", clock(t.from), clock(t.to));
  return s;
}

// In order, apart from each other, and none over `free`.
std::vector<TimeSpan> busy_times(Rng& r, int64_t n, const TimeSpan& free) {
  std::vector<TimeSpan> out;
  int64_t at = kOpens;
  for (int64_t k = 0; k < n; ++k) {
    const int64_t from = at + kGrid * between(r, k == 0 ? 0 : 1, 8), to = from + kGrid * between(r, 2, 12);
    if (to > kCloses) break;
    if (to <= free.from || from >= free.to) out.push_back({from, to}), at = to;
  }
  if (out.empty()) {
    if (free.from > kOpens) return {{kOpens, free.from}};
    return {{free.to, kCloses}};
  }
  return out;
}

// The longest spans of the day that no busy time touches.
std::vector<TimeSpan> free_times(std::vector<TimeSpan> busy) {
  std::ranges::sort(busy, {}, &TimeSpan::from);
  std::vector<TimeSpan> out;
  int64_t at = kOpens;
  for (const TimeSpan& t : busy) {
    if (t.from > at) out.push_back({at, t.from});
    at = std::max(at, t.to);
  }
  if (at < kCloses) out.push_back({at, kCloses});
  return out;
}

class Schedules : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t people = difficulty / 2 + 2, minutes = kGrid * between(r, 2, difficulty < 3 ? 4 : 6);
    TimeSpan free{kOpens + kGrid * between(r, 0, (kCloses - kOpens - minutes) / kGrid), 0};
    free.to = free.from + minutes;
    std::vector<TimeSpan> all;
    std::string said;
    Json busy = Json::array();
    for (int64_t i = 0; i < people; ++i) {
      const std::vector<TimeSpan> times = busy_times(r, 2 + std::min<int64_t>(difficulty / 3, 3), free);
      all.insert(all.end(), times.begin(), times.end());
      const auto person = static_cast<size_t>(i) % kPeople.size();
      said += fmt::format(" {}{}: {}.", kPeople[person],
                          i < static_cast<int64_t>(kPeople.size()) ? "" : std::to_string(i / 16 + 1), text_of(times));
    }
    for (const TimeSpan& t : all) busy.push(json_array({t.from, t.to}));
    Problem p{.key = fmt::format("{} minutes:{}", minutes, said)};
    p.question = fmt::format(
        "A meeting of {} minutes must be between {} and {}, at a time when everyone is free. These are the times "
        "when people are busy.{} Give a time for the meeting, with start and end written like {}-{}. If there are "
        "several, give one.",
        minutes, clock(kOpens), clock(kCloses), said, clock(kOpens - 60), clock(kOpens - 60 + minutes));
    const std::vector<TimeSpan> open = free_times(all);
    const auto fits = std::ranges::find_if(open, [&](const TimeSpan& t) { return t.to - t.from >= minutes; });
    p.steps = fmt::format("Everyone is free at {}. The first of these that holds {} minutes is {}-{}.", text_of(open),
                          minutes, clock(fits->from), clock(fits->to));
    p.answer = fmt::format("{}-{}", clock(fits->from), clock(fits->from + minutes));
    p.facts.set("busy", std::move(busy)), p.facts.set("minutes", minutes);
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    std::string given = final_answer(reply);
    if (const size_t to = given.find(" to "); to != given.npos) given.replace(to, 4, "-");
    std::erase(given, ' ');
    const size_t dash = given.find('-');
    if (dash == given.npos) return {0, "the answer is not a start and an end"};
    const auto from = answer_clock(std::string_view(given).substr(0, dash)),
               to = answer_clock(std::string_view(given).substr(dash + 1));
    if (!from || !to) return {0, "the answer is not a start and an end"};
    const int64_t minutes = p.facts.at("minutes").as_int();
    if (*to - *from != minutes) return {0, fmt::format("that is not {} minutes", minutes)};
    if (*from < kOpens || *to > kCloses) return {0, "that is outside the day"};
    for (const Json& t : p.facts.at("busy").as_array())
      if (const auto span = json_numbers(t); *from < span[1] && *to > span[0])
        return {0, fmt::format("one is busy at {}-{}", clock(span[0]), clock(span[1]))};
    return {1, "everyone is free"};
  }
};

}  // namespace

void register_schedules(EnvironmentRegistry& r) {
  r.add("schedules", "a time when several people are free", std::make_unique<Schedules>(), "time and calendars");
}

}  // namespace quern::gym
