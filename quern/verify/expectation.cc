#include "quern/verify/expectation.h"

#include <algorithm>
#include <cmath>

#include "quern/base/nearest.h"

namespace quern::verify {

void check_fields(const Json& expectation, std::initializer_list<std::string_view> known) {
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& [key, ignored] : expectation.as_object("expectation"))
    if (key != "verifier" && std::ranges::find(names, key) == names.end())
      fail("field '{}' is not known: expected {}{}", key, fmt::join(names, ", "), did_you_mean(key, names));
}

const std::string& text_field(const Json& e, std::string_view field) {
  const Json* v = e.find(field);
  if (!v) fail("field '{}' is missing", field);
  if (!v->is_string()) fail("field '{}': expected a string, found {}", field, v->dump());
  return v->as_string();
}

std::optional<std::string> text_if_given(const Json& e, std::string_view field) {
  return e.find(field) ? std::optional(text_field(e, field)) : std::nullopt;
}

std::optional<double> number_if_given(const Json& e, std::string_view field) {
  const Json* v = e.find(field);
  if (!v) return {};
  if (!v->is_number() || !(v->as_double() >= 0) || !std::isfinite(v->as_double()))
    fail("field '{}': expected a number, 0 or more, found {}", field, v->dump());
  return v->as_double();
}

std::optional<int64_t> count_if_given(const Json& e, std::string_view field) {
  const Json* v = e.find(field);
  if (!v) return {};
  if (!v->is_int() || v->as_int() < 0) fail("field '{}': expected a count, 0 or more, found {}", field, v->dump());
  return v->as_int();
}

std::vector<std::string> texts_field(const Json& e, std::string_view field) {
  const Json* v = e.find(field);
  if (!v) fail("field '{}' is missing", field);
  if (v->is_string()) return {v->as_string()};
  if (!v->is_array() || v->as_array().empty())
    fail("field '{}': expected a string or a list of strings, found {}", field, v->dump());
  std::vector<std::string> out;
  for (const Json& one : v->as_array()) {
    if (!one.is_string()) fail("field '{}': expected strings, found {}", field, one.dump());
    out.push_back(one.as_string());
  }
  return out;
}

std::string word_field(const Json& e, std::string_view field, const std::vector<std::string>& words) {
  if (!e.find(field)) return words.front();
  const std::string& given = text_field(e, field);
  if (std::ranges::find(words, given) == words.end())
    fail("field '{}': expected {}, found '{}'{}", field, fmt::join(words, " or "), given, did_you_mean(given, words));
  return given;
}

}  // namespace quern::verify
