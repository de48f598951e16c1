// Operations on lists of integers and on integers, in three languages.
#include <algorithm>
#include <numeric>

#include "quern/code/operations.h"

namespace quern::code {
namespace {

using V = const CodeValue&;
constexpr ValueType kList = ValueType::list, kNumber = ValueType::number;

template <class F>
CodeValue each(V x, F&& f) {
  CodeValue out = x;
  for (int64_t& v : out.list) v = f(v);
  return out;
}
template <class F>
CodeValue kept(V x, F&& f) {
  CodeValue out = x;
  std::erase_if(out.list, [&](int64_t v) { return !f(v); });
  return out;
}
template <class F>
CodeValue number_of(V x, F&& f) {
  return CodeValue::of(f(x.list));
}
CodeValue range_of(V x, int64_t from, int64_t to) {
  const auto size = static_cast<int64_t>(x.list.size());
  const int64_t begin = std::min(from, size), end = std::min(to, size);
  return CodeValue::of(std::vector<int64_t>(x.list.begin() + begin, x.list.begin() + end));
}
CodeValue running_sums(V x, int64_t) {
  CodeValue out = x;
  std::partial_sum(x.list.begin(), x.list.end(), out.list.begin());
  return out;
}
CodeValue with_positions(V x, int64_t) {
  CodeValue out = x;
  for (size_t i = 0; i < x.list.size(); ++i) out.list[i] += static_cast<int64_t>(i);
  return out;
}
CodeValue folded(V x, int64_t n) {
  int64_t t = 0;
  for (int64_t v : x.list) t = remainder_of(t * n + v, 100);
  return CodeValue::of(t);
}
int64_t digit_sum(int64_t x) {
  int64_t sum = 0;
  for (x = std::abs(x); x > 0; x /= 10) sum += x % 10;
  return sum;
}

// Of each: name, types, constant; English; Python; C; list language; the function.
constexpr CodeOperation kOperations[] = {
    {"add", kList, kList, 1, 9, "add {n} to each number", "{x} = [v + {n} for v in {x}]",
     "for (int i = 0; i < len; i++) {x}[i] += {n};", "map(v -> v + {n}, {x})",
     [](V x, int64_t n) { return each(x, [&](int64_t v) { return v + n; }); }},
    {"multiply", kList, kList, 2, 9, "multiply each number by {n}", "{x} = [v * {n} for v in {x}]",
     "for (int i = 0; i < len; i++) {x}[i] *= {n};", "map(v -> v * {n}, {x})",
     [](V x, int64_t n) { return each(x, [&](int64_t v) { return v * n; }); }},
    {"square", kList, kList, 0, 0, "square each number", "{x} = [v * v for v in {x}]",
     "for (int i = 0; i < len; i++) {x}[i] *= {x}[i];", "map(v -> v * v, {x})",
     [](V x, int64_t) { return each(x, [](int64_t v) { return v * v; }); }},
    {"subtract_from", kList, kList, 1, 20, "replace each number v by {n} - v", "{x} = [{n} - v for v in {x}]",
     "for (int i = 0; i < len; i++) {x}[i] = {n} - {x}[i];", "map(v -> {n} - v, {x})",
     [](V x, int64_t n) { return each(x, [&](int64_t v) { return n - v; }); }},
    {"remainder", kList, kList, 2, 9, "replace each number by its remainder after division by {n} (0 or more)",
     "{x} = [v % {n} for v in {x}]", "for (int i = 0; i < len; i++) {x}[i] = ({x}[i] % {n} + {n}) % {n};",
     "map(v -> v % {n}, {x})", [](V x, int64_t n) { return each(x, [&](int64_t v) { return remainder_of(v, n); }); }},
    {"divide", kList, kList, 2, 5, "divide each number by {n}, rounding down", "{x} = [v // {n} for v in {x}]",
     "for (int i = 0; i < len; i++) {x}[i] = ({x}[i] - ({x}[i] % {n} + {n}) % {n}) / {n};", "map(v -> v / {n}, {x})",
     [](V x, int64_t n) { return each(x, [&](int64_t v) { return floor_divided(v, n); }); }},
    {"absolute", kList, kList, 0, 0, "replace each number by its absolute value", "{x} = [abs(v) for v in {x}]",
     "for (int i = 0; i < len; i++) if ({x}[i] < 0) {x}[i] = -{x}[i];", "map(v -> if v < 0 then 0 - v else v, {x})",
     [](V x, int64_t) { return each(x, [](int64_t v) { return std::abs(v); }); }},
    {"cap", kList, kList, 1, 9, "replace each number greater than {n} by {n}", "{x} = [min(v, {n}) for v in {x}]",
     "for (int i = 0; i < len; i++) if ({x}[i] > {n}) {x}[i] = {n};", "map(v -> if v > {n} then {n} else v, {x})",
     [](V x, int64_t n) { return each(x, [&](int64_t v) { return std::min(v, n); }); }},
    {"keep_greater", kList, kList, 1, 9, "keep the numbers greater than {n}", "{x} = [v for v in {x} if v > {n}]",
     "{ int m = 0; for (int i = 0; i < len; i++) if ({x}[i] > {n}) {x}[m++] = {x}[i]; len = m; }",
     "filter(v -> v > {n}, {x})", [](V x, int64_t n) { return kept(x, [&](int64_t v) { return v > n; }); }},
    {"keep_less", kList, kList, 1, 9, "keep the numbers less than {n}", "{x} = [v for v in {x} if v < {n}]",
     "{ int m = 0; for (int i = 0; i < len; i++) if ({x}[i] < {n}) {x}[m++] = {x}[i]; len = m; }",
     "filter(v -> v < {n}, {x})", [](V x, int64_t n) { return kept(x, [&](int64_t v) { return v < n; }); }},
    {"keep_multiples", kList, kList, 2, 5, "keep the numbers divisible by {n}",
     "{x} = [v for v in {x} if v % {n} == 0]",
     "{ int m = 0; for (int i = 0; i < len; i++) if ({x}[i] % {n} == 0) {x}[m++] = {x}[i]; len = m; }",
     "filter(v -> v % {n} = 0, {x})", [](V x, int64_t n) { return kept(x, [&](int64_t v) { return v % n == 0; }); }},
    {"drop_multiples", kList, kList, 2, 5, "drop the numbers divisible by {n}",
     "{x} = [v for v in {x} if v % {n} != 0]",
     "{ int m = 0; for (int i = 0; i < len; i++) if ({x}[i] % {n} != 0) {x}[m++] = {x}[i]; len = m; }",
     "filter(v -> v % {n} != 0, {x})", [](V x, int64_t n) { return kept(x, [&](int64_t v) { return v % n != 0; }); }},
    {"reverse", kList, kList, 0, 0, "reverse the list", "{x} = {x}[::-1]",
     "for (int i = 0, j = len - 1; i < j; i++, j--) { long long t = {x}[i]; {x}[i] = {x}[j]; {x}[j] = t; }",
     "reverse({x})",
     [](V x, int64_t) { return CodeValue::of(std::vector<int64_t>(x.list.rbegin(), x.list.rend())); }},
    {"sort", kList, kList, 0, 0, "sort the list in ascending order", "{x} = sorted({x})",
     "for (int i = 1; i < len; i++) for (int j = i; j > 0 && {x}[j - 1] > {x}[j]; j--) "
     "{ long long t = {x}[j]; {x}[j] = {x}[j - 1]; {x}[j - 1] = t; }",
     "sort({x})",
     [](V x, int64_t) {
       CodeValue out = x;
       std::ranges::sort(out.list);
       return out;
     }},
    {"take", kList, kList, 1, 5, "keep only the first {n} numbers", "{x} = {x}[:{n}]", "if (len > {n}) len = {n};",
     "take({n}, {x})", [](V x, int64_t n) { return range_of(x, 0, n); }},
    {"drop", kList, kList, 1, 3, "drop the first {n} numbers", "{x} = {x}[{n}:]",
     "{ int m = 0; for (int i = {n}; i < len; i++) {x}[m++] = {x}[i]; len = m; }", "drop({n}, {x})",
     [](V x, int64_t n) { return range_of(x, n, INT64_MAX); }},
    {"rotate", kList, kList, 0, 0, "move the first number to the end", "{x} = {x}[1:] + {x}[:1]",
     "if (len > 0) { long long t = {x}[0]; for (int i = 1; i < len; i++) {x}[i - 1] = {x}[i]; {x}[len - 1] = t; }",
     "drop(1, {x}) ++ take(1, {x})",
     [](V x, int64_t) {
       CodeValue out = x;
       if (!x.list.empty()) std::rotate(out.list.begin(), out.list.begin() + 1, out.list.end());
       return out;
     }},
    {"subtract_least", kList, kList, 0, 0, "subtract the smallest number of the list from each number",
     "{x} = [v - min({x}) for v in {x}]",
     "{ long long m = 0; for (int i = 0; i < len; i++) if (i == 0 || {x}[i] < m) m = {x}[i]; "
     "for (int i = 0; i < len; i++) {x}[i] -= m; }",
     "let m = min({x}) in map(v -> v - m, {x})",
     [](V x, int64_t) {
       const int64_t m = x.list.empty() ? 0 : *std::ranges::min_element(x.list);
       return each(x, [&](int64_t v) { return v - m; });
     }},
    {"running_sums", kList, kList, 0, 0, "replace each number by the sum of the numbers up to and with it",
     "{x} = [sum({x}[:i + 1]) for i in range(len({x}))]", "for (int i = 1; i < len; i++) {x}[i] += {x}[i - 1];",
     "fold(t v -> t ++ [last(t) + v], [], {x})", running_sums},
    {"add_positions", kList, kList, 0, 0, "add to each number its position, counted from 0",
     "{x} = [v + i for i, v in enumerate({x})]", "for (int i = 0; i < len; i++) {x}[i] += i;",
     "fold(t v -> t ++ [v + len(t)], [], {x})", with_positions},
    {"append_sum", kList, kList, 0, 0, "append the sum of the list", "{x} = {x} + [sum({x})]", "",
     "{x} ++ [sum({x})]",
     [](V x, int64_t) {
       CodeValue out = x;
       out.list.push_back(std::accumulate(x.list.begin(), x.list.end(), int64_t{0}));
       return out;
     }},
    {"sum", kList, kNumber, 0, 0, "add up the numbers", "{x} = sum({x})",
     "long long y = 0; for (int i = 0; i < len; i++) y += {x}[i];", "sum({x})",
     [](V x, int64_t) {
       return number_of(x, [](auto& l) { return std::accumulate(l.begin(), l.end(), int64_t{0}); });
     }},
    {"largest", kList, kNumber, 0, 0, "take the largest number, 0 for an empty list", "{x} = max({x}, default=0)",
     "long long y = len > 0 ? {x}[0] : 0; for (int i = 1; i < len; i++) if ({x}[i] > y) y = {x}[i];", "max({x})",
     [](V x, int64_t) { return number_of(x, [](auto& l) { return l.empty() ? 0 : *std::ranges::max_element(l); }); }},
    {"smallest", kList, kNumber, 0, 0, "take the smallest number, 0 for an empty list", "{x} = min({x}, default=0)",
     "long long y = len > 0 ? {x}[0] : 0; for (int i = 1; i < len; i++) if ({x}[i] < y) y = {x}[i];", "min({x})",
     [](V x, int64_t) { return number_of(x, [](auto& l) { return l.empty() ? 0 : *std::ranges::min_element(l); }); }},
    {"last", kList, kNumber, 0, 0, "take the last number, 0 for an empty list", "{x} = {x}[-1] if {x} else 0",
     "long long y = len > 0 ? {x}[len - 1] : 0;", "last({x})",
     [](V x, int64_t) { return number_of(x, [](auto& l) { return l.empty() ? 0 : l.back(); }); }},
    {"count_greater", kList, kNumber, 1, 9, "count the numbers greater than {n}",
     "{x} = sum(1 for v in {x} if v > {n})", "long long y = 0; for (int i = 0; i < len; i++) if ({x}[i] > {n}) y++;",
     "len(filter(v -> v > {n}, {x}))",
     [](V x, int64_t n) { return CodeValue::of(std::ranges::count_if(x.list, [&](int64_t v) { return v > n; })); }},
    {"alternating", kList, kNumber, 0, 0,
     "go through the list with a total that starts at 0, each time replacing the total by the number minus the total",
     "t = 0\nfor v in {x}:\n    t = v - t\n{x} = t", "long long y = 0; for (int i = 0; i < len; i++) y = {x}[i] - y;",
     "fold(t v -> v - t, 0, {x})",
     [](V x, int64_t) {
       int64_t t = 0;
       for (int64_t v : x.list) t = v - t;
       return CodeValue::of(t);
     }},
    {"horner", kList, kNumber, 2, 9,
     "go through the list with a total that starts at 0, each time multiplying it by {n}, adding the number and "
     "taking "
     "the remainder after division by 100 (0 or more)",
     "t = 0\nfor v in {x}:\n    t = (t * {n} + v) % 100\n{x} = t",
     "long long y = 0; for (int i = 0; i < len; i++) y = ((y * {n} + {x}[i]) % 100 + 100) % 100;",
     "fold(t v -> (t * {n} + v) % 100, 0, {x})", folded},
    {"plus", kNumber, kNumber, 1, 50, "add {n}", "{x} = {x} + {n}", "{x} += {n};", "{x} + {n}",
     [](V x, int64_t n) { return CodeValue::of(x.number + n); }},
    {"times", kNumber, kNumber, 2, 9, "multiply by {n}", "{x} = {x} * {n}", "{x} *= {n};", "{x} * {n}",
     [](V x, int64_t n) { return CodeValue::of(x.number * n); }},
    {"minus_from", kNumber, kNumber, 1, 99, "subtract it from {n}", "{x} = {n} - {x}", "{x} = {n} - {x};",
     "{n} - {x}", [](V x, int64_t n) { return CodeValue::of(n - x.number); }},
    {"squared", kNumber, kNumber, 0, 0, "square it", "{x} = {x} * {x}", "{x} *= {x};", "{x} * {x}",
     [](V x, int64_t) { return CodeValue::of(x.number * x.number); }},
    {"modulo", kNumber, kNumber, 5, 60, "take the remainder after division by {n} (0 or more)", "{x} = {x} % {n}",
     "{x} = ({x} % {n} + {n}) % {n};", "{x} % {n}",
     [](V x, int64_t n) { return CodeValue::of(remainder_of(x.number, n)); }},
    {"divided", kNumber, kNumber, 2, 5, "divide by {n}, rounding down", "{x} = {x} // {n}",
     "{x} = ({x} - ({x} % {n} + {n}) % {n}) / {n};", "{x} / {n}",
     [](V x, int64_t n) { return CodeValue::of(floor_divided(x.number, n)); }},
    {"half_or_more", kNumber, kNumber, 0, 0, "halve it if it is even, otherwise triple it and add 1",
     "{x} = {x} // 2 if {x} % 2 == 0 else 3 * {x} + 1", "{x} = {x} % 2 == 0 ? {x} / 2 : 3 * {x} + 1;",
     "if {x} % 2 = 0 then {x} / 2 else 3 * {x} + 1",
     [](V x, int64_t) { return CodeValue::of(x.number % 2 == 0 ? x.number / 2 : 3 * x.number + 1); }},
    {"digit_sum", kNumber, kNumber, 0, 0, "take the sum of its decimal digits, without the sign",
     "{x} = sum(int(d) for d in str(abs({x})))",
     "{ long long s = 0; for (long long t = {x} < 0 ? -{x} : {x}; t > 0; t /= 10) s += t % 10; {x} = s; }", "",
     [](V x, int64_t) { return CodeValue::of(digit_sum(x.number)); }},
    {"range", kNumber, kList, 4, 12, "list the integers from 0 up to its remainder after division by {n}",
     "{x} = list(range({x} % {n} + 1))", "", "range({x} % {n} + 1)",
     [](V x, int64_t n) {
       std::vector<int64_t> out(static_cast<size_t>(remainder_of(x.number, n)) + 1);
       std::iota(out.begin(), out.end(), 0);
       return CodeValue::of(std::move(out));
     }},
};

}  // namespace

std::span<const CodeOperation> list_operations() { return kOperations; }

}  // namespace quern::code
