// What generated programs take and give: an integer, a list of integers, or a string of ASCII characters.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"
#include "quern/base/rng.h"

namespace quern::code {

enum class ValueType { number, list, text };

struct CodeValue {
  ValueType type = ValueType::number;
  int64_t number = 0;
  std::vector<int64_t> list = {};
  std::string text = {};

  static CodeValue of(int64_t n) { return {.number = n}; }
  static CodeValue of(std::vector<int64_t> l) { return {.type = ValueType::list, .list = std::move(l)}; }
  static CodeValue of(std::string s) { return {.type = ValueType::text, .text = std::move(s)}; }
  bool operator==(const CodeValue&) const = default;
};

constexpr int64_t kMaxNumber = 1'000'000'000;  // no program goes beyond, in either direction

std::string text_of(const CodeValue& v);  // 12, [1, -2], 'a b': as Python prints its representation
Json to_json(const CodeValue& v);         // 12, [1, -2], "a b"
CodeValue value_from(const Json& j);      // throws Error for anything else

// All of the text is a value of that type, but for blanks: 12; [1, -2]; 'a b', "a b" or a b. Numbers have at most 18
// digits.
std::optional<CodeValue> read_value(std::string_view text, ValueType type);

// The arguments of a function: f(x) or f(x, k).
struct Arguments {
  CodeValue x;
  std::optional<int64_t> k = {};
  bool operator==(const Arguments&) const = default;
};
std::string text_of(const Arguments& a);  // "[1, 2], 3"

// Of the function f: in Python f(x) or f(x, k); in C as c_declaration() says.
struct CodeSignature {
  ValueType in = ValueType::number, out = ValueType::number;
  bool has_k = false;
};
std::string c_declaration(const CodeSignature& s);  // "int f(long long *x, int len)": in place, gives the new length

struct CodeTest {
  Arguments arguments;
  CodeValue expected;
};
Json to_json(const std::vector<CodeTest>& tests);
std::vector<CodeTest> tests_from(const Json& j);

// What a function may be given, as stated in questions.
struct InputFormat {
  ValueType type = ValueType::number;
  int64_t length = 0;               // of a list or a string: at most so many
  int64_t lowest = 0, highest = 0;  // of the numbers
  int64_t max_k = 0;                // of k, from 1; 0: there is none

  std::string text() const;  // "a list of at most 6 integers from -9 to 9"
  bool admits(const Arguments& a) const;
  std::optional<Arguments> read(std::string_view text) const;  // "[1, 2], 3", whether admitted or not
  Arguments random(Rng& r) const;
  // Different arguments: the edge cases (empty, single, all equal, extremes) and then random ones.
  std::vector<Arguments> tests(Rng& r, size_t count) const;
};
Json to_json(const InputFormat& f);
InputFormat format_from(const Json& j);

}  // namespace quern::code
