// Filters, tests and methods of the template language, by name.
#pragma once
#include <string>

#include "quern/text/jinja/value.h"

namespace quern::text::jinja {

// Filters and tests by name need to be callable from map, select and reject, hence values in and out only.
Value apply_filter(const std::string& name, const Value& input, const Arguments& args);
bool apply_test(const std::string& name, const Value& input, const Arguments& args);
// x.name where x is a string, list or dict: a bound method, or undefined when there is none.
Value method(const Value& object, const std::string& name);

constexpr size_t kMaxText = size_t{64} << 20;  // bytes any one string may reach
void check_text(size_t bytes);

}  // namespace quern::text::jinja
