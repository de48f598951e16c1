// Lists, logic and stories: problems whose answer is found in the text.
#include <numeric>

#include "quern/base/error.h"
#include "quern/data/problem_words.h"
#include "quern/data/problems.h"

namespace quern::problems {
namespace {

std::string joined(const std::vector<std::string>& v) { return fmt::format("{}", fmt::join(v, ", ")); }
std::string joined(const std::vector<int64_t>& v) { return fmt::format("{}", fmt::join(v, ", ")); }

std::vector<int64_t> numbers(Rng& r, size_t n, int64_t high) {  // all different
  std::vector<int64_t> v;
  while (v.size() < n)
    if (int64_t x = between(r, 1, high); std::find(v.begin(), v.end(), x) == v.end()) v.push_back(x);
  return v;
}

// A list is trained on in every order and question or in none.
template <class T>
std::string key_of(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return joined(v);
}

// Sorting by taking the smallest that is left, again and again.
template <class T>
std::string sort_steps(std::vector<T> left) {
  std::string s;
  while (left.size() > 1) {
    auto at = std::min_element(left.begin(), left.end());
    s += fmt::format("First of {}: {}. ", joined(left), *at);
    left.erase(at);
  }
  return s + fmt::format("Last: {}.", left[0]);
}

const char* ordinal(size_t i) {
  static constexpr const char* kNames[] = {"first", "second", "third", "fourth", "fifth", "sixth", "seventh"};
  return kNames[i];
}

struct Comparison {
  const char *more, *less, *most, *least;
};
constexpr Comparison kComparisons[] = {{"taller", "shorter", "tallest", "shortest"},
                                       {"older", "younger", "oldest", "youngest"},
                                       {"faster", "slower", "fastest", "slowest"},
                                       {"stronger", "weaker", "strongest", "weakest"}};

Problem counting(Rng& r, int level) {
  const std::vector<std::string> who = several(r, kPeople, 3);
  const auto thing = pick(r, kThings);
  int64_t have[3] = {between(r, 2, 12), between(r, 2, 12), between(r, 2, 12)};
  const int people = level == 1 ? 1 : level == 2 ? 2 : 3;
  std::string text, steps;
  Problem p;
  for (int i = 0; i < people; ++i) {
    text += fmt::format("{} has {} {}s. ", who[static_cast<size_t>(i)], have[i], thing);
    p.key += fmt::format("{} ", have[i]);
  }
  for (int turn = 0; turn < level; ++turn) {
    const size_t a = r.below(static_cast<uint64_t>(people)), b = (a + 1) % static_cast<size_t>(people);
    const int64_t n = have[a] > 1 ? between(r, 1, std::min<int64_t>(have[a] - 1, 6)) : 0;
    if (people > 1 && n > 0) {
      text += fmt::format("{} gives {} {}s to {}. ", who[a], n, thing, who[b]);
      steps += fmt::format("{}: {} - {} = {}. {}: {} + {} = {}. ", who[a], have[a], n, have[a] - n, who[b], have[b],
                           n, have[b] + n);
      have[a] -= n, have[b] += n;
      p.key += fmt::format("{} gives {} ", a, n);
    } else {
      const int64_t found = between(r, 2, 9);
      text += fmt::format("{} finds {} more. ", who[a], found);
      steps += fmt::format("{}: {} + {} = {}. ", who[a], have[a], found, have[a] + found);
      have[a] += found;
      p.key += fmt::format("{} finds {} ", a, found);
    }
  }
  const size_t asked = r.below(static_cast<uint64_t>(people));
  steps.pop_back();
  p.question = fmt::format("{}How many {}s does {} have now?", text, thing, who[asked]);
  p.steps = steps;
  p.answer = fmt::format("{} {}s", have[asked], thing);
  return p;
}

Problem finding(Rng& r, int level) {
  const std::vector<std::string> who = several(r, kPeople, 3);
  const std::vector<std::string> things = several(r, kThings, 2);
  const size_t moves = static_cast<size_t>(level == 4 ? 4 : 6);
  std::vector<std::string> seen[2];
  std::string text;
  Problem p;
  for (size_t k = 0; k < moves; ++k) {
    const size_t which = k < 2 ? k : r.below(2);
    std::string place(pick(r, kPlaces));
    while (!seen[which].empty() && seen[which].back() == place) place = pick(r, kPlaces);
    const std::string& name = who[r.below(3)];
    text += seen[which].empty() ? fmt::format("{} puts the {} in the {}. ", name, things[which], place)
                                : fmt::format("{} takes the {} to the {}. ", name, things[which], place);
    seen[which].push_back(place);
    p.key += things[which] + " " + place + " ";
  }
  const size_t asked = seen[0].size() >= seen[1].size() ? 0 : 1;
  const std::vector<std::string>& way = seen[asked];
  p.steps = fmt::format("The {} was in: {}.", things[asked], joined(way));
  if (level == 4) {
    p.question = fmt::format("{}Where is the {} now?", text, things[asked]);
    p.answer = "in the " + way.back();
  } else {
    p.question = fmt::format("{}Where was the {} before it was where it is now?", text, things[asked]);
    p.answer = "in the " + way[way.size() - 2];
  }
  return p;
}

}  // namespace

Problem lists(Rng& r, int level) {
  if (level == 1) {
    const std::vector<int64_t> v = numbers(r, 3, 50);
    const bool most = r.below(2) == 1;
    const int64_t found = most ? *std::max_element(v.begin(), v.end()) : *std::min_element(v.begin(), v.end());
    const int64_t first = most ? std::max(v[0], v[1]) : std::min(v[0], v[1]);
    return {.question = fmt::format("Which of {} is the {}?", joined(v), most ? "largest" : "smallest"),
            .steps = fmt::format("Of {} and {}: {}. Of {} and {}: {}.", v[0], v[1], first, first, v[2], found),
            .answer = std::to_string(found),
            .key = key_of(v)};
  }
  if (level == 2) {
    std::vector<int64_t> v = numbers(r, 4, 99), sorted = v;
    std::sort(sorted.begin(), sorted.end());
    return {.question = fmt::format("Sort from small to large: {}", joined(v)),
            .steps = sort_steps(v),
            .answer = joined(sorted),
            .key = key_of(v)};
  }
  if (level == 3) {
    std::vector<std::string> v = several(r, kThings, 5), back(v.rbegin(), v.rend());
    const size_t at = r.below(5);
    const bool reverse = r.below(2) == 1;
    std::string counted;
    for (size_t i = 0; i <= at; ++i) counted += fmt::format("{}{}: {}", i ? ", " : "", ordinal(i), v[i]);
    return {.question = reverse ? fmt::format("Write in reverse order: {}", joined(v))
                                : fmt::format("Which word is {} in the list {}?", ordinal(at), joined(v)),
            .steps = reverse ? fmt::format("The last is {}, the first is {}.", v.back(), v[0]) : counted + ".",
            .answer = reverse ? joined(back) : v[at],
            .key = joined(v)};
  }
  if (level == 4) {
    std::vector<std::string> v = several(r, kPeople, 5), sorted = v;
    std::sort(sorted.begin(), sorted.end());
    return {.question = fmt::format("Sort by the alphabet: {}", joined(v)),
            .steps = sort_steps(v),
            .answer = joined(sorted),
            .key = key_of(v)};
  }
  const std::vector<int64_t> v = numbers(r, 7, 40);
  const bool even = r.below(2) == 1;
  std::vector<int64_t> kept;
  for (int64_t x : v)
    if ((x % 2 == 0) == even) kept.push_back(x);
  std::string steps = fmt::format("{} numbers: {}.", even ? "Even" : "Odd", kept.empty() ? "none" : joined(kept));
  int64_t sum = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (i > 0) steps += fmt::format(" {} + {} = {}.", sum, kept[i], sum + kept[i]);
    sum += kept[i];
  }
  return {.question = fmt::format("Add up the {} numbers of {}.", even ? "even" : "odd", joined(v)),
          .steps = steps,
          .answer = std::to_string(sum),
          .key = key_of(v)};
}

Problem logic(Rng& r, int level) {
  const size_t n = static_cast<size_t>(level) + 2;
  const std::vector<std::string> order = several(r, kPeople, n);  // the most first
  const Comparison& c = kComparisons[r.below(std::size(kComparisons))];
  std::vector<std::string> said;
  for (size_t i = 0; i + 1 < n; ++i)
    said.push_back(level >= 2 && r.below(2) == 1 ? fmt::format("{} is {} than {}.", order[i + 1], c.less, order[i])
                                                 : fmt::format("{} is {} than {}.", order[i], c.more, order[i + 1]));
  if (level >= 2) shuffle(r, said);
  Problem p{.key = fmt::format("{} {}", c.more, joined(order))};
  p.question = fmt::format("{} ", fmt::join(said, " "));
  p.steps = fmt::format("From the {} down: {}.", c.most, joined(order));
  if (level >= 4 && r.below(2) == 1) {
    const size_t at = 1 + r.below(n - 2);
    p.question += fmt::format("From the {} down, who is {}?", c.most, ordinal(at));
    p.answer = order[at];
  } else {
    const bool most = r.below(2) == 1;
    p.question += fmt::format("Who is the {}?", most ? c.most : c.least);
    p.answer = most ? order.front() : order.back();
  }
  return p;
}

Problem stories(Rng& r, int level) { return level <= 3 ? counting(r, level) : finding(r, level); }

}  // namespace quern::problems
