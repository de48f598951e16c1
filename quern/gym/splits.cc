#include "quern/gym/splits.h"

#include <array>
#include <string>

#include "quern/base/error.h"
#include "quern/base/nearest.h"

namespace quern::gym {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"train", "dev", "test"};

}  // namespace

std::string_view split_name(ProblemSplit s) { return kNames[static_cast<size_t>(s)]; }

ProblemSplit parse_split(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<ProblemSplit>(i);
  fail("split '{}': expected train, dev or test{}", name,
       did_you_mean(std::string(name), {kNames.begin(), kNames.end()}));
}

ProblemSplit split_of(std::string_view environment, std::string_view key) {
  uint64_t h = 0x51ed270b;
  for (std::string_view part : {environment, std::string_view(": "), key})
    for (unsigned char c : part) h = mix64(h * 31 + c + 1);
  if (h % 10 == 0) return ProblemSplit::test;
  return h / 10 % 18 == 0 ? ProblemSplit::dev : ProblemSplit::train;  // 1/18 of nine tenths
}

ProblemSplit split_of(const NamedEnvironment& e, const Problem& p) {
  if (const auto own = e.environment->own_split(p)) return *own;
  return split_of(e.name, p.key);
}

std::optional<SeededProblem> find_split_problem(const EnvironmentAt& at, const SplitChoice& choice, uint64_t index) {
  const Rng draws(mix64(choice.seed) ^ 0x5b117, index);
  for (uint64_t i = 0; i < kMaxSplitDraws; ++i) {
    const uint64_t seed = draws.bits(i) >> 11;
    Problem p = at.environment->generate(seed, at.difficulty);
    if (split_of(*at.environment, p) == choice.split) return SeededProblem{std::move(p), seed};
  }
  return {};
}

std::optional<SeededProblem> DifferentProblems::next() {
  // With n problems of which all but one came before, this many draws miss it with a chance of less than e^-5.
  for (uint64_t draws = 200 + 5 * questions_.size(); draws > 0 && !exhausted_; --draws) {
    std::optional<SeededProblem> found = find_split_problem(at_, choice_, index_++);
    if (!found) break;
    if (questions_.insert(found->problem.question).second) return found;
  }
  exhausted_ = true;
  return {};
}

SeededProblem split_problem(const EnvironmentAt& at, const SplitChoice& choice, uint64_t index) {
  if (auto found = find_split_problem(at, choice, index)) return std::move(*found);
  fail(
      "environment '{}' at difficulty {}: none of {} problems is on the {} side: there are too few different "
      "problems",
      at.environment->name, at.difficulty, kMaxSplitDraws, split_name(choice.split));
}

}  // namespace quern::gym
