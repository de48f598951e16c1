// Every way that visits no place twice is tried; the verifier accepts the shortest of them and no other.
#include <functional>
#include <map>

#include "quern/gym/answer_checks.h"
#include "quern/gym/check_environment.h"

namespace quern::gym {
namespace {

using Way = std::vector<int64_t>;
using Roads = std::map<int64_t, std::map<int64_t, int64_t>>;

Roads roads_of(const Problem& p) {
  Roads roads;
  for (const auto& v : numbers_of(p.question, "(\\d+)-(\\d+): (\\d+)")) roads[v[0]][v[1]] = roads[v[1]][v[0]] = v[2];
  return roads;
}

std::pair<int64_t, int64_t> ends_of(const Problem& p) {
  const auto v = numbers_of(p.question, "from (\\d+) to (\\d+)").at(0);
  return {v[0], v[1]};
}

int64_t length_of(const Roads& roads, const Way& way) {  // -1: no way
  int64_t sum = 0;
  for (size_t i = 1; i < way.size(); ++i) {
    if (!roads.contains(way[i - 1]) || !roads.at(way[i - 1]).contains(way[i])) return -1;
    sum += roads.at(way[i - 1]).at(way[i]);
  }
  return sum;
}

// The shortest length by letting every road shorten ways until none does.
int64_t shortest_of(const Roads& roads, int64_t from, int64_t to) {
  std::map<int64_t, int64_t> length = {{from, 0}};
  for (size_t round = 0; round < roads.size(); ++round)
    for (const auto& [a, near] : roads)
      for (const auto& [b, weight] : near)
        if (length.contains(a) && (!length.contains(b) || length[b] > length[a] + weight))
          length[b] = length[a] + weight;
  return length.at(to);
}

TEST(ShortestPath, AreTheShortest) {
  each_generated("shortest_path", [](const Problem& p) {
    const Roads roads = roads_of(p);
    const auto [from, to] = ends_of(p);
    const Way way = read_integers(p.answer);
    ASSERT_FALSE(way.empty());
    EXPECT_EQ(way.front(), from);
    EXPECT_EQ(way.back(), to);
    EXPECT_EQ(length_of(roads, way), shortest_of(roads, from, to));
    EXPECT_EQ(std::ssize(roads), p.difficulty + 5);
  });
}

TEST(ShortestPath, AcceptsEveryShortestWay) {
  const NamedEnvironment& e = plugin_environments().find("shortest_path");
  int others = 0;
  each_generated("shortest_path",
                 [&](const Problem& p) {
                   const Roads roads = roads_of(p);
                   const auto [from, to] = ends_of(p);
                   const int64_t best = shortest_of(roads, from, to), goal = to;
                   Way way = {from};
                   const std::function<void()> go = [&] {
                     if (way.back() == goal) {
                       const std::string text = fmt::format("{}", fmt::join(way, " -> "));
                       const bool shortest = length_of(roads, way) == best;
                       EXPECT_EQ(e.verify(p, "Answer: " + text).reward, shortest ? 1 : 0) << text;
                       others += shortest && way != read_integers(p.answer) ? 1 : 0;
                       return;
                     }
                     for (const auto& [next, weight] : roads.at(way.back())) {
                       if (std::find(way.begin(), way.end(), next) != way.end()) continue;
                       way.push_back(next);
                       go();
                       way.pop_back();
                     }
                   };
                   go();
                 },
                 {0, 1, 2, 4});
  EXPECT_GT(others, 20);
}

TEST(ShortestPath, SaysWhatIsWrong) {
  const NamedEnvironment& e = plugin_environments().find("shortest_path");
  const Problem p = e.generate(1, 4);
  const auto [from, to] = ends_of(p);
  EXPECT_EQ(e.verify(p, fmt::format("{}", to)).reason, "the path does not begin at the start");
  EXPECT_EQ(e.verify(p, fmt::format("{}", from)).reason, "the path does not end at the goal");
  EXPECT_EQ(e.verify(p, fmt::format("{0}, {0}, {1}", from, to)).reason,
            fmt::format("no road joins {0} and {0}", from));
  EXPECT_EQ(e.verify(p, "none").reason, "the answer is not a list of places");
}

TEST(ShortestPath, RefusesMutations) {
  check_mutations("shortest_path", [](const Problem& p, const std::string& a) {
    const Way way = read_integers(a);
    const auto [from, to] = ends_of(p);
    const Roads roads = roads_of(p);
    return !way.empty() && way.front() == from && way.back() == to &&
           length_of(roads, way) == shortest_of(roads, from, to);
  });
}

TEST(ShortestPath, HasTheProperties) { check_environment("shortest_path", {.several_right = true}); }

}  // namespace
}  // namespace quern::gym
