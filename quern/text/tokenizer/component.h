// Parses the components of tokenizer.json (normalizer, pre-tokenizer, decoder …): each is an object with a "type".
// What they share: fields with defaults, patterns ({"String": …} or {"Regex": …}), sequences flattened with a bound.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "quern/base/json.h"
#include "quern/text/unicode/regex.h"

namespace quern::text {

constexpr size_t kMaxSteps = 64;  // steps of one pipeline

const std::string& component_type(const Json& j, std::string_view where);
bool field_bool(const Json& j, std::string_view key, bool otherwise);
std::string field_string(const Json& j, std::string_view key, std::string_view otherwise);
[[noreturn]] void unknown_component(std::string_view where, std::string_view type, std::string_view known);

// Calls `leaf` for every component under `j`, entering Sequence (whose list is the field `list`) in order.
void each_component(const Json& j, std::string_view where, std::string_view list,
                    const std::function<void(const Json&)>& leaf);

// A literal or a regular expression, found in text from left to right.
class Pattern {
 public:
  Pattern() = default;
  static Pattern literal(std::string s);
  static Pattern from_json(const Json& j, std::string_view where);
  Regex::Match find(std::string_view s, size_t from, RegexScratch& scratch) const;
  bool is_literal() const { return !regex_; }

 private:
  std::string literal_;
  std::shared_ptr<const Regex> regex_;
};

// Every match replaced by `with`, which is taken literally.
void replace_all(std::string& text, const Pattern& p, std::string_view with, RegexScratch& scratch);

}  // namespace quern::text
