// Environment `time_zones`: the local time at the end of a journey of d / 2 + 1 flights between places with given
// offsets from UTC.
#include "quern/base/error.h"
#include "quern/gym/answer_verdicts.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
namespace {

constexpr int64_t kDay = 24 * 60;

std::string clock(int64_t minutes) {
  const int64_t m = (minutes % kDay + kDay) % kDay;
  return fmt::format("{}:{:02}", m / 60, m % 60);
}

std::string zone(int64_t offset) { return fmt::format("UTC{}{}", offset < 0 ? "-" : "+", clock(std::abs(offset))); }

std::string span(int64_t minutes) {
  const int64_t hours = minutes / 60, rest = minutes % 60;
  return fmt::format("{} hour{} {} minute{}", hours, hours == 1 ? "" : "s", rest, rest == 1 ? "" : "s");
}

class TimeZones : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override {
    const int64_t flights = difficulty / 2 + 1, grid = difficulty == 0 ? 60 : difficulty < 3 ? 30 : 5;
    const auto offset = [&] {
      return (difficulty < 2 ? 60 : 30) * between(r, difficulty < 2 ? -10 : -20, difficulty < 2 ? 12 : 24);
    };
    const int64_t start_offset = offset();
    const int64_t start = grid * between(r, 0, kDay / grid - 1);
    int64_t here = start_offset, utc = start - here;
    Problem p;
    p.question =
        fmt::format("A traveler leaves a place with the time zone {} at {} local time", zone(here), clock(start));
    p.steps = fmt::format("{} at {} is {} UTC.", clock(start), zone(here), clock(utc));
    for (int64_t i = 0; i < flights; ++i) {
      const int64_t wait = i == 0 ? 0 : grid * between(r, 1, 300 / grid), fly = grid * between(r, 1, 720 / grid);
      if (wait > 0) p.question += fmt::format(", waits there for {}", span(wait));
      if (wait > 0) p.steps += fmt::format(" {} later: {} UTC.", span(wait), clock(utc + wait));
      utc += wait + fly;
      here = offset();
      p.question += fmt::format("{} flies for {} to a place with {}",
                                i == 0            ? ","
                                : i + 1 < flights ? ","
                                                  : " and",
                                span(fly), zone(here));
      p.steps += fmt::format(" {} later: {} UTC.", span(fly), clock(utc));
    }
    p.question += ". What is the local time at the end? Write it like 9:05 or 21:05.";
    p.answer = clock(utc + here);
    p.steps += fmt::format(" At {} it is {}.", zone(here), p.answer);
    p.key = p.question;
    return p;
  }

  Verdict verify(const Problem& p, std::string_view reply) const override {
    const std::string given = final_answer(reply);
    const auto time = answer_clock(given);
    if (!time) return {0, given.empty() ? "no answer" : "the answer is not a time"};
    if (time == answer_clock(p.answer)) return {1, "the time is right"};
    return {0, fmt::format("expected '{}'", p.answer)};
  }
};

}  // namespace

void register_time_zones(EnvironmentRegistry& r) {
  r.add("time_zones", "the local time after flights between time zones", std::make_unique<TimeZones>(),
        "time and calendars");
}

}  // namespace quern::gym
