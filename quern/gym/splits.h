// Splits by name of every environment: train, dev and test. A problem's side follows from a hash of its environment and
// Problem::key, so one problem falls on one side however it is worded and whatever seed made it: a tenth of all is test
// (the held-out tenth of the curriculum, curriculum_problems.h), a twentieth dev, the rest train. An environment may divide its problems itself.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "quern/gym/environment_registry.h"

namespace quern::gym {

std::string_view split_name(ProblemSplit s);
ProblemSplit parse_split(std::string_view name);  // throws Error for a name that is none
ProblemSplit split_of(std::string_view environment, std::string_view key);
ProblemSplit split_of(const NamedEnvironment& e, const Problem& p);

// An environment at one difficulty.
struct EnvironmentAt {
  const NamedEnvironment* environment;
  int64_t difficulty = 0;
};

struct SeededProblem {
  Problem problem;
  uint64_t seed = 0;  // NamedEnvironment::generate makes the problem again; below 2^53
};

// The problem with this index of (environment, difficulty, split, seed): drawn again until one falls on the side, up to
// kMaxSplitDraws times. None falls there if there are too few different problems: nothing, or an Error that names
// environment, difficulty and split.
constexpr uint64_t kMaxSplitDraws = 1000;
struct SplitChoice {
  ProblemSplit split = ProblemSplit::train;
  uint64_t seed = 0;
};
std::optional<SeededProblem> find_split_problem(const EnvironmentAt& at, const SplitChoice& choice, uint64_t index);
SeededProblem split_problem(const EnvironmentAt& at, const SplitChoice& choice, uint64_t index);

// The problems of split_problem() in order of the index, without those whose question came before. Nothing: there are no
// others, as far as many more draws can tell.
class DifferentProblems {
 public:
  DifferentProblems(const EnvironmentAt& at, const SplitChoice& choice) : at_(at), choice_(choice) {}
  std::optional<SeededProblem> next();

 private:
  EnvironmentAt at_;
  SplitChoice choice_;
  uint64_t index_ = 0;
  bool exhausted_ = false;
  std::unordered_set<std::string> questions_;
};

}  // namespace quern::gym
