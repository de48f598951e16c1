// Reading the fields of an expectation. Every function throws Error naming the field.
#pragma once
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/json.h"

namespace quern::verify {

// Only these fields, besides "verifier".
void check_fields(const Json& expectation, std::initializer_list<std::string_view> known);

const std::string& text_field(const Json& e, std::string_view field);  // required
std::optional<std::string> text_if_given(const Json& e, std::string_view field);
std::optional<double> number_if_given(const Json& e, std::string_view field);  // not negative
std::optional<int64_t> count_if_given(const Json& e, std::string_view field);  // 0 or more
std::vector<std::string> texts_field(const Json& e, std::string_view field);   // a text, or a list of some
std::string word_field(const Json& e, std::string_view field, const std::vector<std::string>& words);  // or the first

}  // namespace quern::verify
