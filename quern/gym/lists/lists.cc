// Environment `lists`: the largest of three, sorting, places and reversal; from difficulty 4 on the sum of the even or
// odd ones of d + 3 numbers.
#include "quern/base/error.h"
#include "quern/gym/environment_registry.h"
#include "quern/gym/problem_words.h"

namespace quern::gym {
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

Problem lists(Rng& r, int64_t d) {
  if (d == 0) {
    const std::vector<int64_t> v = numbers(r, 3, 50);
    const bool most = r.below(2) == 1;
    const int64_t found = most ? *std::max_element(v.begin(), v.end()) : *std::min_element(v.begin(), v.end());
    const int64_t first = most ? std::max(v[0], v[1]) : std::min(v[0], v[1]);
    return {.question = fmt::format("Which of {} is the {}?", joined(v), most ? "largest" : "smallest"),
            .steps = fmt::format("Of {} and {}: {}. Of {} and {}: {}.", v[0], v[1], first, first, v[2], found),
            .answer = std::to_string(found),
            .key = key_of(v)};
  }
  if (d == 1) {
    std::vector<int64_t> v = numbers(r, 4, 99), sorted = v;
    std::sort(sorted.begin(), sorted.end());
    return {.question = fmt::format("Sort from small to large: {}", joined(v)),
            .steps = sort_steps(v),
            .answer = joined(sorted),
            .key = key_of(v)};
  }
  if (d == 2) {
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
  if (d == 3) {
    std::vector<std::string> v = several(r, kPeople, 5), sorted = v;
    std::sort(sorted.begin(), sorted.end());
    return {.question = fmt::format("Sort by the alphabet: {}", joined(v)),
            .steps = sort_steps(v),
            .answer = joined(sorted),
            .key = key_of(v)};
  }
  const std::vector<int64_t> v = numbers(r, static_cast<size_t>(d) + 3, 10 * d);
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

class Lists : public Environment {
 public:
  Problem generate(Rng& r, int64_t difficulty) const override { return lists(r, difficulty); }
};

}  // namespace

void register_lists(EnvironmentRegistry& r) {
  r.add("lists", "largest, smallest, sorted, reversed and selected entries of a list", std::make_unique<Lists>(),
        "data and tables");
}

}  // namespace quern::gym
