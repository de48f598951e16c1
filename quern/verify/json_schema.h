// Validation of JSON values against a JSON Schema (draft 2020-12), with the keywords of constrained decoding
// (quern/text/grammar) in any combination, and bounds of numbers, uniqueItems, prefixItems, not, minProperties,
// maxProperties. Other keywords are refused, so that no assertion is passed over.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "quern/base/json.h"
#include "quern/text/unicode/regex.h"

namespace quern::verify {

class JsonSchema {
 public:
  explicit JsonSchema(Json schema);  // throws Error naming the place
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  // What is wrong with a value and where, such as "at /age: expected integer"; nothing when it is valid.
  std::optional<std::string> complaint(const Json& value) const;

 private:
  struct Check;
  void check_schema(const Json& s, const std::string& path, int depth);
  const Json& pointed(const Json& ref, const std::string& path) const;
  Json root_;
  std::map<const Json*, text::Regex> patterns_ = {};  // by the string of the keyword
};

// Equal values: 1 and 1.0 are, the order of members does not count.
bool equal_json(const Json& a, const Json& b);

}  // namespace quern::verify
