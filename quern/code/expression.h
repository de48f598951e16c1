// The list language: one function of one or two arguments over integers and lists of integers.
//
//   f(x, k) = let a = filter(v -> v > k, x) in if len(a) > 2 then sum(a) else fold(t v -> t * 2 + v, 0, x)
//
// docs/gym/code-tasks.md defines it. Parsing checks names and types; evaluation has a bound on steps, list sizes and
// numbers, so that every program ends.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quern/code/code_value.h"

namespace quern::code {

struct Expression {
  enum class Op {
    number,
    variable,
    list,
    let,
    choice,  // if … then … else
    add,
    subtract,
    multiply,
    divide,
    remainder,
    join,  // ++
    less,
    less_equal,
    greater,
    greater_equal,
    equal,
    not_equal,
    map,
    filter,
    fold,
    call
  };
  Op op = Op::number;
  ValueType type = ValueType::number;
  int64_t number = 0;              // of a number; the place of a variable or of a called function
  std::string name = {}, other{};  // of a variable, or of those that let, map, filter and fold bring in
  std::vector<Expression> parts = {};
};

struct ListFunction {
  std::vector<std::string> names;  // of the arguments
  Expression body;
};

// "f(x) = …" or the expression alone, which then uses `names`. The types are those of the arguments. Throws Error that
// says what is wrong and where.
ListFunction parse_function(std::string_view text, const std::vector<std::string>& names,
                            const std::vector<ValueType>& types);

std::string text_of(const Expression& e);  // with no more parentheses than needed
std::string text_of(const ListFunction& f);

struct Outcome {
  CodeValue value;
  std::string problem = {};  // why there is no value: a bound, or a division by zero; empty: there is one
};
Outcome evaluate(const ListFunction& f, const Arguments& a);

// Functions that can be called: len, sum, max, min, first, last, reverse, sort, range, take, drop.
struct ListBuiltin {
  std::string_view name;
  std::vector<ValueType> takes;
  ValueType gives;
};
const std::vector<ListBuiltin>& list_builtins();

constexpr int64_t kMaxSteps = 100'000, kMaxListSize = 1000, kMaxProgramText = 8000, kMaxNesting = 200;

// The language in a sentence, for questions: all of it, or what the program has.
std::string language_rules(std::string_view program);

}  // namespace quern::code
