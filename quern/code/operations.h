// The operations that generated programs are composed of: what each does, in English, in Python, in C and in the list
// language (expression.h), and as a function here. In the texts {x} is the value so far and {n} the constant; C texts
// work on the array {x} of len numbers in place, or on the number {x}. An empty text: the language lacks the operation.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

#include "quern/code/code_value.h"

namespace quern::code {

enum class Dialect { python, c, expression };

struct CodeOperation {
  std::string_view name;
  ValueType in, out;
  int64_t low, high;  // of the constant; both 0: it has none
  std::string_view english, python, c, expression;
  CodeValue (*apply)(const CodeValue& x, int64_t n);

  bool has_constant() const { return high != 0; }
  bool is_in(Dialect d) const { return !(d == Dialect::python ? python : d == Dialect::c ? c : expression).empty(); }
};

// Whether a value is so; of steps that do one thing or another.
struct CodeCondition {
  std::string_view name;
  ValueType in;
  int64_t low, high;
  std::string_view english, python, c, expression;
  bool (*holds)(const CodeValue& x, int64_t n);

  bool has_constant() const { return high != 0; }
};

std::span<const CodeOperation> list_operations();  // of lists and numbers
std::span<const CodeOperation> text_operations();  // from or to strings; Python only
std::span<const CodeCondition> conditions();

const CodeOperation& find_operation(std::string_view name);  // throws Error for a name that is none
const CodeCondition& find_condition(std::string_view name);

int64_t floor_divided(int64_t a, int64_t b);  // b > 0; rounded down
int64_t remainder_of(int64_t a, int64_t b);   // b > 0; 0 to b - 1

}  // namespace quern::code
