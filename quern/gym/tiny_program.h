// Small programs for questions: whole numbers in the variables x, y and z, sums, products, remainders, loops of a fixed
// count and conditions. Numbers are never negative, and remainders keep them small.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/base/rng.h"

namespace quern::gym {

struct TinyStatement {
  enum class Op { set, add, add_variable, multiply, repeat, if_greater };
  Op op = Op::set;
  size_t variable = 0, other = 0;  // places in "xyz"
  int64_t number = 0, modulus = 1;
  std::vector<TinyStatement> body = {};  // of repeat and if_greater

  // "x = 3", "x = x + 3", "x = (x + y) % 10", "x = (x * 3) % 10", "repeat 3 times { … }", "if x > y { … }"
  std::string text() const;
};

using TinyProgram = std::vector<TinyStatement>;
using TinyState = std::array<int64_t, 3>;  // x, y, z

std::string text_of(const TinyProgram& program);  // statements separated by "; "
// Runs on; appends "x = 5, " to `trace` for every change unless it is null.
void run(const TinyProgram& program, TinyState& state, std::string* trace = nullptr);

// `statements` random ones over the first `variables` variables, none of which only sets one; every third or so with a
// body of two.
TinyProgram random_program(Rng& r, int64_t statements, size_t variables);

Json to_json(const TinyProgram& program);  // for the facts of a problem
TinyProgram tiny_program(const Json& json);

}  // namespace quern::gym
