// Problems: every answer is worked out again from the question's text by other means, splits never meet, every kind
// and level gives problems of both splits, and answers are read back from what a model may write.
#include "quern/gym/curriculum_problems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <regex>
#include <set>

#include "quern/base/error.h"
#include "quern/base/json.h"

namespace quern {
namespace {

template <class F>
void each_problem(const std::string& kind, int level, F&& f, uint64_t n = 250) {
  for (Split split : {Split::train, Split::held_out})
    for (uint64_t i = 0; i < n; ++i) {
      const Problem p =
          curriculum_problem({.split = split, .seed = 7, .min_level = level, .max_level = level, .kinds = {kind}}, i);
      ASSERT_EQ(p.level, level);
      ASSERT_EQ(p.kind, kind);
      SCOPED_TRACE(plain_form(p));
      f(p);
      if (testing::Test::HasFailure()) return;
    }
}

std::vector<int64_t> numbers_in(const std::string& s) {
  static const std::regex number("\\d+");
  std::vector<int64_t> v;
  for (std::sregex_iterator i(s.begin(), s.end(), number), end; i != end; ++i) v.push_back(std::stoll(i->str()));
  return v;
}

std::vector<std::string> words_in(std::string s) {
  std::vector<std::string> v;
  for (size_t at; (at = s.find(", ")) != s.npos; s = s.substr(at + 2)) v.push_back(s.substr(0, at));
  v.push_back(s);
  return v;
}

// "6 * 47 + 3 - 2", products first.
int64_t value_of(const std::string& e) {
  static const std::regex term("([+-]?) ?(\\d+)(?: \\* (\\d+))?");
  int64_t sum = 0;
  for (std::sregex_iterator i(e.begin(), e.end(), term), end; i != end; ++i) {
    const int64_t v = std::stoll((*i)[2]) * ((*i)[3].matched ? std::stoll((*i)[3]) : 1);
    sum += (*i)[1] == "-" ? -v : v;
  }
  return sum;
}

// Every "a op b = c" of a trace is true.
void expect_true_steps(const std::string& steps) {
  static const std::regex equation("(\\d+) ([-+*/]) (\\d+) = (\\d+)");
  for (std::sregex_iterator i(steps.begin(), steps.end(), equation), end; i != end; ++i) {
    const int64_t a = std::stoll((*i)[1]), b = std::stoll((*i)[3]), c = std::stoll((*i)[4]);
    const char op = (*i)[2].str()[0];
    EXPECT_EQ(op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b, c) << i->str();
    EXPECT_TRUE(op != '/' || a % b == 0);
  }
}

TEST(Problems, ArithmeticIsRight) {
  for (int level = 1; level <= 5; ++level)
    each_problem("arithmetic", level, [](const Problem& p) {
      const std::vector<int64_t> v = numbers_in(p.question);
      if (p.question.starts_with("Divide"))
        EXPECT_EQ(p.answer, fmt::format("{} remainder {}", v[0] / v[1], v[0] % v[1]));
      else
        EXPECT_EQ(p.answer, std::to_string(value_of(p.question.substr(8, p.question.size() - 9))));
      expect_true_steps(p.steps);
    });
}

TEST(Problems, ListsAreRight) {
  for (int level = 1; level <= 5; ++level)
    each_problem("lists", level, [](const Problem& p) {
      std::vector<int64_t> v = numbers_in(p.question);
      const std::string& q = p.question;
      auto has = [&](const char* s) { return q.find(s) != q.npos; };
      if (has("largest")) {
        EXPECT_EQ(p.answer, std::to_string(*std::max_element(v.begin(), v.end())));
      } else if (has("smallest")) {
        EXPECT_EQ(p.answer, std::to_string(*std::min_element(v.begin(), v.end())));
      } else if (has("small to large")) {
        std::sort(v.begin(), v.end());
        EXPECT_EQ(p.answer, fmt::format("{}", fmt::join(v, ", ")));
      } else if (has("reverse") || has("alphabet")) {
        std::vector<std::string> w = words_in(q.substr(q.find(": ") + 2));
        has("reverse") ? std::reverse(w.begin(), w.end()) : std::sort(w.begin(), w.end());
        EXPECT_EQ(p.answer, fmt::format("{}", fmt::join(w, ", ")));
      } else if (has("Which word")) {
        const std::map<std::string, size_t> places = {
            {"first", 0}, {"second", 1}, {"third", 2}, {"fourth", 3}, {"fifth", 4}};
        const std::string place = q.substr(14, q.find(' ', 14) - 14);
        const size_t begin = q.find("list ") + 5;
        EXPECT_EQ(p.answer, words_in(q.substr(begin, q.size() - 1 - begin))[places.at(place)]);
      } else {
        int64_t sum = 0;
        for (int64_t x : v) sum += (x % 2 == 0) == has("even") ? x : 0;
        EXPECT_EQ(p.answer, std::to_string(sum));
        expect_true_steps(p.steps);
      }
    });
}

// All orders of the people are tried; exactly one agrees with every statement.
TEST(Problems, LogicHasOneSolution) {
  static const std::regex claim("(\\w+) is (\\w+) than (\\w+)\\.");
  const std::set<std::string> more = {"taller", "older", "faster", "stronger"};
  const std::set<std::string> most = {"tallest", "oldest", "fastest", "strongest"};
  for (int level = 1; level <= 5; ++level)
    each_problem(
        "logic", level,
        [&](const Problem& p) {
          std::vector<std::pair<std::string, std::string>> above;
          std::set<std::string> who;
          for (std::sregex_iterator i(p.question.begin(), p.question.end(), claim), end; i != end; ++i) {
            const bool up = more.count((*i)[2]) > 0;
            above.emplace_back((*i)[up ? 1 : 3], (*i)[up ? 3 : 1]);
            who.insert((*i)[1]), who.insert((*i)[3]);
          }
          ASSERT_EQ(who.size(), static_cast<size_t>(level) + 2);
          std::vector<std::string> order(who.begin(), who.end()), found;
          int solutions = 0;
          do {
            auto at = [&](const std::string& s) { return std::find(order.begin(), order.end(), s); };
            if (std::all_of(above.begin(), above.end(), [&](auto& a) { return at(a.first) < at(a.second); }))
              ++solutions, found = order;
          } while (std::next_permutation(order.begin(), order.end()));
          ASSERT_EQ(solutions, 1);
          const std::string last = p.question.substr(p.question.rfind(". ") + 2);
          if (last.starts_with("Who is the ")) {
            EXPECT_EQ(p.answer, most.count(last.substr(11, last.size() - 12)) ? found.front() : found.back());
          } else {
            const char* places[] = {"first", "second", "third", "fourth", "fifth", "sixth", "seventh"};
            for (size_t k = 0; k < found.size(); ++k)
              EXPECT_TRUE(!last.ends_with(std::string(places[k]) + "?") || p.answer == found[k]);
          }
        },
        level == 5 ? 15 : 60);
}

TEST(Problems, DatesAgreeWithTheCalendar) {
  using namespace std::chrono;
  const std::vector<std::string> weekdays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                             "Friday", "Saturday", "Sunday"};
  const std::vector<std::string> months = {"January", "February", "March",     "April",   "May",      "June",
                                           "July",    "August",   "September", "October", "November", "December"};
  auto index = [](const std::vector<std::string>& names, const std::string& s) {
    return std::find(names.begin(), names.end(), s) - names.begin();
  };
  auto date = [&](const std::string& month, const std::string& day) {
    return sys_days(year(2023) / static_cast<int>(index(months, month) + 1) / std::stoi(day));
  };
  for (int level = 1; level <= 5; ++level)
    each_problem("dates", level, [&](const Problem& p) {
      std::smatch m;
      if (std::regex_match(p.question, m,
                           std::regex("Today is (\\w+)\\. What day (?:is|was) it (\\d+) days? (.*)\\?"))) {
        const int64_t n = std::stoll(m[2]) * (m[3] == "ago" ? -1 : 1);
        EXPECT_EQ(p.answer, weekdays[static_cast<size_t>(((index(weekdays, m[1]) + n) % 7 + 7) % 7)]);
      } else if (std::regex_match(p.question, m, std::regex("It is (\\d+):(\\d\\d)\\. What time is it (\\d+) .*"))) {
        const int64_t t = std::stoll(m[1]) * 60 + std::stoll(m[2]) + std::stoll(m[3]);
        EXPECT_EQ(p.answer, fmt::format("{}:{:02}", t / 60 % 24, t % 60));
        expect_true_steps(p.steps);
      } else if (std::regex_match(p.question, m, std::regex(".*which date is (\\d+) days after (\\w+) (\\d+)\\?"))) {
        const year_month_day then(date(m[2], m[3]) + days(std::stoi(m[1])));
        EXPECT_EQ(then.year(), year(2023));
        EXPECT_EQ(p.answer, fmt::format("{} {}", months[static_cast<unsigned>(then.month()) - 1],
                                        static_cast<unsigned>(then.day())));
        expect_true_steps(p.steps);
      } else {
        ASSERT_TRUE(std::regex_match(p.question, m, std::regex(".*is it from (\\w+) (\\d+) to (\\w+) (\\d+)\\?")));
        EXPECT_EQ(p.answer, fmt::format("{} days", (date(m[3], m[4]) - date(m[1], m[2])).count()));
        expect_true_steps(p.steps);
      }
    });
}

TEST(Problems, UnitsAreRight) {
  const std::map<std::string, int64_t> factor = {{"m", 100},    {"km", 1000}, {"kg", 1000},
                                                 {"hours", 60}, {"l", 1000},  {"days", 24}};
  for (int level = 1; level <= 5; ++level)
    each_problem("units", level, [&](const Problem& p) {
      expect_true_steps(p.steps);
      const std::vector<int64_t> v = numbers_in(p.question);
      std::smatch m;
      if (std::regex_match(p.question, m, std::regex("How many (\\w+) are (\\d+) (\\w+)(?: and (\\d+) \\w+)?\\?"))) {
        EXPECT_EQ(p.answer, fmt::format("{} {}", v[0] * factor.at(m[3]) + (m[4].matched ? v[1] : 0), m[1].str()));
      } else if (std::regex_match(p.question, m, std::regex("Write (\\d+) (\\w+) as (\\w+) and \\w+\\."))) {
        const int64_t f = factor.at(m[3]);
        EXPECT_EQ(p.answer, fmt::format("{} {} {} {}", v[0] / f, m[3].str(), v[0] % f, m[2].str()));
      } else if (p.question.find("costs") != std::string::npos) {
        EXPECT_EQ(p.answer, fmt::format("{} coins", v[2] - v[0] * v[1]));
      } else if (p.question.starts_with("A boat")) {
        EXPECT_EQ(p.answer, fmt::format("{} km", v[0] * (v[1] * 60 + v[2]) / 60));
        EXPECT_EQ(v[0] * (v[1] * 60 + v[2]) % 60, 0);
      } else {
        EXPECT_EQ(p.answer, fmt::format("{} g", v[1] / v[0] * v[2]));
      }
    });
}

// The story is acted out.
TEST(Problems, StoriesEndAsTold) {
  static const std::regex sentence("(\\w+) (has|gives|finds|puts|takes) ([^.]*)\\. ");
  for (int level = 1; level <= 5; ++level)
    each_problem("stories", level, [&](const Problem& p) {
      std::map<std::string, int64_t> have;
      std::map<std::string, std::vector<std::string>> places;
      for (std::sregex_iterator i(p.question.begin(), p.question.end(), sentence), end; i != end; ++i) {
        const std::string who = (*i)[1], verb = (*i)[2], rest = (*i)[3];
        std::smatch m;
        if (std::regex_match(rest, m, std::regex("the (\\w+) (?:in|to) the (\\w+)"))) {
          places[m[1]].push_back(m[2]);
          continue;
        }
        const int64_t n = numbers_in(rest).at(0);
        have[who] += verb == "gives" ? -n : n;
        if (verb == "gives") have[rest.substr(rest.rfind(' ') + 1)] += n;
        for (const auto& [name, count] : have) EXPECT_GE(count, 0);
      }
      std::smatch m;
      if (std::regex_search(p.question, m, std::regex("How many (\\w+) does (\\w+) have now"))) {
        EXPECT_EQ(p.answer, fmt::format("{} {}", have.at(m[2]), m[1].str()));
        expect_true_steps(p.steps);
      } else if (std::regex_search(p.question, m, std::regex("Where is the (\\w+) now"))) {
        EXPECT_EQ(p.answer, "in the " + places.at(m[1]).back());
      } else {
        ASSERT_TRUE(std::regex_search(p.question, m, std::regex("Where was the (\\w+) before")));
        const auto& way = places.at(m[1]);
        ASSERT_GE(way.size(), 2u);
        EXPECT_EQ(p.answer, "in the " + way[way.size() - 2]);
      }
    });
}

// How many ways lead from one place to another, by the number of their roads.
std::map<int64_t, int64_t> ways_between(const std::multimap<int64_t, int64_t>& roads, int64_t from, int64_t to) {
  if (from == to) return {{0, 1}};
  std::map<int64_t, int64_t> out;
  auto [begin, end] = roads.equal_range(from);
  for (auto it = begin; it != end; ++it)
    for (const auto& [n, count] : ways_between(roads, it->second, to)) out[n + 1] += count;
  return out;
}

// Each try of a working is a way that the question's roads allow, counted right, and "Best" is the best of them.
void expect_true_search(const Problem& p, bool longest) {
  std::multimap<int64_t, int64_t> roads;
  std::vector<int64_t> v = numbers_in(p.question);
  for (size_t i = 0; i + 2 < v.size(); i += 2) roads.emplace(v[i], v[i + 1]);
  const int64_t from = v[v.size() - 2], to = v.back();
  const auto all = ways_between(roads, from, to);
  const auto [best, how_many] = longest ? *all.rbegin() : *all.begin();
  EXPECT_EQ(how_many, 1) << p.question;
  EXPECT_EQ(p.answer, fmt::format("{} road{}", best, best == 1 ? "" : "s"));
  int64_t ways = 0;
  for (const auto& [n, count] : all) ways += count;
  EXPECT_EQ(ways, static_cast<int64_t>(p.search.tries.size()));

  auto length = [&](const std::string& way) -> int64_t {
    const std::vector<int64_t> at = numbers_in(way);
    EXPECT_EQ(at.front(), from);
    EXPECT_EQ(at.back(), to);
    for (size_t i = 0; i + 1 < at.size(); ++i) {
      auto [begin, end] = roads.equal_range(at[i]);
      EXPECT_TRUE(std::any_of(begin, end, [&](const auto& r) { return r.second == at[i + 1]; })) << way;
    }
    return static_cast<int64_t>(at.size()) - 1;
  };
  const size_t mark = p.steps.rfind("Best: ");
  ASSERT_NE(mark, p.steps.npos);
  std::set<std::string> tries;
  int64_t found = longest ? 0 : 100;
  std::string left = p.steps.substr(0, mark);
  for (size_t at; (at = left.find(". ")) != left.npos; left = left.substr(at + 2)) {
    const std::string t = left.substr(0, at), way = t.substr(0, t.find(':'));
    EXPECT_TRUE(tries.insert(way).second);
    EXPECT_EQ(numbers_in(t).back(), length(way)) << t;
    found = longest ? std::max(found, length(way)) : std::min(found, length(way));
  }
  EXPECT_EQ(left, "");
  EXPECT_EQ(tries.size(), kTrialsShown);
  const std::string last = p.steps.substr(mark + 6), way = last.substr(last.find(", ") + 2);
  EXPECT_TRUE(tries.contains(way.substr(0, way.size() - 1))) << last;
  EXPECT_EQ(numbers_in(last).front(), found);
  EXPECT_EQ(length(way), found);
  const std::string& said = p.found.empty() ? p.answer : p.found;
  EXPECT_EQ(numbers_in(said).front(), found);
}

TEST(Problems, WalksAreTheLongest) {
  for (int level = 1; level <= 5; ++level)
    each_problem("walks", level, [](const Problem& p) { expect_true_search(p, true); });
}

TEST(Problems, RoutesAreTheShortest) {
  for (int level = 1; level <= 5; ++level)
    each_problem("routes", level, [](const Problem& p) { expect_true_search(p, false); });
}

TEST(Problems, ASearchGoesOnFromTheBestThatWasSeen) {
  for (uint64_t i = 0; i < 300; ++i) {
    const Problem p = curriculum_problem({.seed = 9, .min_level = 3, .kinds = {"walks", "routes"}}, i);
    Rng r(1, i);
    const std::vector<Trial>& all = p.search.tries;
    ASSERT_GT(all.size(), kTrialsShown);
    const Problem missed = worked_again(p, r, {}, 1);
    EXPECT_EQ((". " + missed.steps).find(". " + all[0].text), std::string::npos);
    EXPECT_NE(missed.found, "");
    EXPECT_FALSE(answers(assistant_content(missed), p));
    EXPECT_NE(chat_line(missed).find("\"answer\":\"" + p.answer + "\""), std::string::npos);
    const std::string claimed = missed.steps.substr(missed.steps.rfind("Best: ") + 6),
                      best = claimed.substr(0, claimed.size() - 1);
    const Problem after = worked_again(p, r, missed.steps), again = worked_again(p, r, missed.steps, 1),
                  seen = worked_again(p, r, missed.steps + p.steps, 1);
    EXPECT_TRUE(after.steps.starts_with(best));
    EXPECT_TRUE(after.steps.ends_with("Best: " + all[0].claimed + "."));
    EXPECT_TRUE(answers(assistant_content(after), p));
    EXPECT_TRUE(again.steps.starts_with(best));
    EXPECT_NE(again.found, "");
    EXPECT_TRUE(seen.steps.starts_with(all[0].claimed));  // nothing to stop short of
    EXPECT_EQ(seen.found, "");
  }
  Rng r(1);
  const Problem sum = curriculum_problem({.kinds = {"arithmetic"}}, 0);
  EXPECT_EQ(worked_again(sum, r, "17 + 26 = 43", 1).steps, sum.steps);
}

TEST(Problems, SplitsNeverMeet) {
  std::set<std::string> keys[2], questions[2];
  for (int side = 0; side < 2; ++side)
    for (uint64_t seed : {1, 2})
      for (uint64_t i = 0; i < 2500; ++i) {
        const Problem p = curriculum_problem({.split = side ? Split::held_out : Split::train, .seed = seed}, i);
        keys[side].insert(p.key), questions[side].insert(p.question);
      }
  for (const std::string& k : keys[1]) EXPECT_EQ(keys[0].count(k), 0u) << k;
  for (const std::string& q : questions[1]) EXPECT_EQ(questions[0].count(q), 0u) << q;
  EXPECT_GT(keys[0].size(), 3000u);
}

TEST(Problems, AreAFunctionOfSeedAndIndex) {
  std::set<std::string> kinds;
  int same = 0;
  for (uint64_t i = 0; i < 200; ++i) {
    const Problem a = curriculum_problem({.seed = 3}, i), b = curriculum_problem({.seed = 3}, i),
                  c = curriculum_problem({.seed = 4}, i);
    EXPECT_EQ(plain_form(a), plain_form(b));
    same += a.question == c.question;
    kinds.insert(a.kind);
    EXPECT_TRUE(answers(plain_form(a), a));
    EXPECT_TRUE(answers(assistant_content(a), a));
  }
  EXPECT_LT(same, 10);
  EXPECT_EQ(kinds.size(), problem_kinds().size());
}

TEST(Problems, AnswersAreReadBack) {
  EXPECT_EQ(final_answer("<think>\nAnswer: 3\n</think>\n\nAnswer:  In the  Mill.\nBye"), "in the mill");
  EXPECT_EQ(final_answer("42"), "42");
  EXPECT_EQ(final_answer("Answer: 1\nAnswer: 2."), "2");
  const Problem p = curriculum_problem({}, 0);
  EXPECT_FALSE(answers("Answer: something else", p));
  const Json j = Json::parse(chat_line(p));
  EXPECT_EQ(j.at("messages").as_array()[1].at("content").as_string(), assistant_content(p));
  EXPECT_EQ(j.at("answer").as_string(), p.answer);
}

TEST(Problems, MistakesAreNamed) {
  EXPECT_THROW(check({.min_level = 0}), Error);
  EXPECT_THROW(check({.min_level = 4, .max_level = 3}), Error);
  EXPECT_THROW(check({.kinds = {"logik"}}), Error);
}

}  // namespace
}  // namespace quern
