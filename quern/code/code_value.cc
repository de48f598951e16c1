#include "quern/code/code_value.h"

#include <algorithm>
#include <charconv>

#include "quern/base/error.h"

namespace quern::code {
namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";

int64_t from_to(Rng& r, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(r.below(static_cast<uint64_t>(high - low + 1)));
}

std::string_view trimmed(std::string_view s) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t from = s.find_first_not_of(kBlank);
  if (from == s.npos) return {};
  return s.substr(from, s.find_last_not_of(kBlank) - from + 1);
}

std::optional<int64_t> read_number(std::string_view s) {
  s = trimmed(s);
  const std::string_view digits = s.starts_with('-') ? s.substr(1) : s;
  if (digits.empty() || digits.size() > 18 || digits.find_first_not_of("0123456789") != digits.npos) return {};
  int64_t n = 0;
  std::from_chars(s.data(), s.data() + s.size(), n);
  return n;
}

std::optional<CodeValue> read_list(std::string_view s) {
  if (s.size() < 2 || s.front() != '[' || s.back() != ']') return {};
  s = trimmed(s.substr(1, s.size() - 2));
  CodeValue out{.type = ValueType::list};
  if (s.empty()) return out;
  for (size_t at = 0; at <= s.size();) {
    const size_t comma = std::min(s.find(',', at), s.size());
    const auto n = read_number(s.substr(at, comma - at));
    if (!n) return {};
    out.list.push_back(*n);
    at = comma + 1;
  }
  return out;
}

// Words of random letters, so that a string has blanks inside but none beside another.
std::string random_text(Rng& r, int64_t length) {
  std::string s;
  const int64_t n = from_to(r, 0, length);
  for (int64_t i = 0; i < n; ++i) {
    const bool blank = i > 0 && i + 1 < n && s.back() != ' ' && r.below(5) == 0;
    s += blank ? ' ' : kLetters[r.below(r.below(2) ? 6 : kLetters.size())];
  }
  return s;
}

}  // namespace

std::string text_of(const CodeValue& v) {
  if (v.type == ValueType::number) return std::to_string(v.number);
  if (v.type == ValueType::list) return fmt::format("[{}]", fmt::join(v.list, ", "));
  return "'" + v.text + "'";
}

Json to_json(const CodeValue& v) {
  if (v.type == ValueType::number) return v.number;
  if (v.type == ValueType::text) return v.text;
  Json out = Json::array();
  for (int64_t n : v.list) out.push(n);
  return out;
}

CodeValue value_from(const Json& j) {
  if (j.is_int()) return CodeValue::of(j.as_int());
  if (j.is_string()) return CodeValue::of(j.as_string());
  std::vector<int64_t> list;
  for (const Json& n : j.as_array("value of a test")) list.push_back(n.as_int("number of a list"));
  return CodeValue::of(std::move(list));
}

// Words that name no text unless they are quoted.
constexpr std::string_view kNoText[] = {"nan", "NaN", "inf", "none", "None", "null", "True", "False"};

std::optional<CodeValue> read_value(std::string_view text, ValueType type) {
  const std::string_view s = trimmed(text);
  if (type == ValueType::list) return read_list(s);
  if (type == ValueType::number) {
    const auto n = read_number(s);
    return n ? std::optional(CodeValue::of(*n)) : std::nullopt;
  }
  const bool quoted = s.size() >= 2 && (s.front() == '\'' || s.front() == '"') && s.back() == s.front();
  const std::string_view inside = quoted ? s.substr(1, s.size() - 2) : s;
  if (inside.find_first_of("'\"\\") != inside.npos || (inside.empty() && !quoted)) return {};
  if (!quoted && std::ranges::find(kNoText, inside) != std::end(kNoText)) return {};
  return CodeValue::of(std::string(inside));
}

std::string text_of(const Arguments& a) { return a.k ? fmt::format("{}, {}", text_of(a.x), *a.k) : text_of(a.x); }

std::string c_declaration(const CodeSignature& s) {
  return fmt::format("{} f({}{})", s.out == ValueType::list ? "int" : "long long",
                     s.in == ValueType::list ? "long long *x, int len" : "long long x",
                     s.has_k ? ", long long k" : "");
}

Json to_json(const std::vector<CodeTest>& tests) {
  Json out = Json::array();
  for (const CodeTest& t : tests) {
    Json j = Json::array();
    j.push(to_json(t.arguments.x));
    j.push(t.arguments.k ? Json(*t.arguments.k) : Json());
    j.push(to_json(t.expected));
    out.push(std::move(j));
  }
  return out;
}

std::vector<CodeTest> tests_from(const Json& j) {
  std::vector<CodeTest> out;
  for (const Json& t : j.as_array("tests")) {
    const Json::Array& parts = t.as_array("test");
    if (parts.size() != 3) fail("test: expected argument, second argument or null, result");
    CodeTest test{{value_from(parts[0])}, value_from(parts[2])};
    if (!parts[1].is_null()) test.arguments.k = parts[1].as_int("second argument");
    out.push_back(std::move(test));
  }
  return out;
}

std::string InputFormat::text() const {
  const std::string range = fmt::format("from {} to {}", lowest, highest);
  std::string out = type == ValueType::number ? "an integer " + range
                    : type == ValueType::list
                        ? fmt::format("a list of at most {} integers {}", length, range)
                        : fmt::format("a string of at most {} characters, lower-case letters and blanks", length);
  return max_k > 0 ? fmt::format("{}, and an integer k from 1 to {}", out, max_k) : out;
}

bool InputFormat::admits(const Arguments& a) const {
  const auto in_range = [&](int64_t n) { return n >= lowest && n <= highest; };
  if (a.x.type != type || a.k.has_value() != (max_k > 0) || (a.k && (*a.k < 1 || *a.k > max_k))) return false;
  if (type == ValueType::number) return in_range(a.x.number);
  if (type == ValueType::list)
    return static_cast<int64_t>(a.x.list.size()) <= length && std::ranges::all_of(a.x.list, in_range);
  return static_cast<int64_t>(a.x.text.size()) <= length &&
         std::ranges::all_of(a.x.text, [](char c) { return c == ' ' || kLetters.find(c) != kLetters.npos; });
}

std::optional<Arguments> InputFormat::read(std::string_view text) const {
  Arguments a;
  if (max_k > 0) {
    const size_t comma = text.rfind(',');
    const auto k = comma == text.npos ? std::nullopt : read_number(text.substr(comma + 1));
    if (!k) return {};
    a.k = k, text = text.substr(0, comma);
  }
  auto x = read_value(text, type);
  if (!x) return {};
  a.x = std::move(*x);
  return a;
}

Arguments InputFormat::random(Rng& r) const {
  Arguments a{.x = {.type = type}};
  if (type == ValueType::number) a.x.number = from_to(r, lowest, highest);
  if (type == ValueType::text) a.x.text = random_text(r, length);
  if (type == ValueType::list)
    for (int64_t n = from_to(r, std::min<int64_t>(2, length), length); n > 0; --n)
      a.x.list.push_back(from_to(r, lowest, highest));
  if (max_k > 0) a.k = from_to(r, 1, max_k);
  return a;
}

std::vector<Arguments> InputFormat::tests(Rng& r, size_t count) const {
  const auto n = static_cast<size_t>(length);
  std::vector<CodeValue> edges;
  if (type == ValueType::number) {
    edges = {CodeValue::of(lowest), CodeValue::of(highest), CodeValue::of(std::clamp<int64_t>(0, lowest, highest)),
             CodeValue::of(std::clamp<int64_t>(1, lowest, highest))};
  } else if (type == ValueType::list) {
    const int64_t any = from_to(r, lowest, highest);
    edges = {CodeValue::of(std::vector<int64_t>{}), CodeValue::of(std::vector{any}),
             CodeValue::of(std::vector(n, highest)), CodeValue::of(std::vector(n, lowest)),
             CodeValue::of(std::vector(n / 2, any))};
  } else {
    edges = {CodeValue::of(std::string()), CodeValue::of(std::string(1, kLetters[r.below(26)])),
             CodeValue::of(std::string(n, 'z')), CodeValue::of(std::string(n / 2, 'e'))};
  }
  std::vector<Arguments> out;
  for (size_t i = 0; out.size() < count && i < 20 * count; ++i) {
    Arguments a = random(r);
    if (i < edges.size()) a.x = edges[i];
    if (std::ranges::find(out, a) == out.end()) out.push_back(std::move(a));
  }
  return out;
}

Json to_json(const InputFormat& f) {
  Json j = Json::object();
  j.set("type", static_cast<int64_t>(f.type)), j.set("length", f.length);
  j.set("lowest", f.lowest), j.set("highest", f.highest), j.set("max_k", f.max_k);
  return j;
}

InputFormat format_from(const Json& j) {
  const int64_t type = j.at("type").as_int();
  if (type < 0 || type > 2) fail("input format: type {}: expected 0 to 2", type);
  return {.type = static_cast<ValueType>(type),
          .length = j.at("length").as_int(),
          .lowest = j.at("lowest").as_int(),
          .highest = j.at("highest").as_int(),
          .max_k = j.at("max_k").as_int()};
}

}  // namespace quern::code
