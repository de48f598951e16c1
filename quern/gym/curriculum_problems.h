// Synthetic reasoning problems, procedurally generated, in five levels: eight environments of the gym at fixed points
// of difficulty, level L being difficulty L - 1. Each has one correct answer that a program can check, and a solution
// that leads to it. All text is generated here; a problem is a function of (seed, index, split) and the selected kinds
// and levels. Split by construction: a tenth of all problems, by a hash of what they ask (not how: 3 + 5 and 8 - 5
// share a key), is held out and never used for training: the test side of splits.h.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quern/data/curriculum.h"
#include "quern/gym/problem.h"

namespace quern::gym {

struct ProblemOptions {
  data::Split split = data::Split::train;
  uint64_t seed = 0;
  int min_level = 1, max_level = 5;
  std::vector<std::string> kinds = {};  // empty: all
};
void check(const ProblemOptions& o);                         // throws Error naming the field
void read_levels(std::string_view text, ProblemOptions& o);  // "3" or "2-4"

std::span<const std::string_view> problem_kinds();
Problem curriculum_problem(const ProblemOptions& o, uint64_t index);

}  // namespace quern::gym
