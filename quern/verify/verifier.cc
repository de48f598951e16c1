#include "quern/verify/verifier.h"

#include "quern/base/nearest.h"
#include "quern/verify/expectation.h"
#include "quern/verify/json_reply.h"

namespace quern::verify {

const std::vector<VerifierInfo>& verifiers() {
  static const std::vector<VerifierInfo> all = {
      {"choice", "one of several choices, by letter or by text", make_choice},
      {"code", "a function in Python or C, by tests in the sandbox", make_code},
      {"exact", "one of some texts, with settings for case, space and punctuation", make_exact},
      {"instructions", "instructions about form, each checked: counts, keywords, case, layout, language",
       make_instructions},
      {"json", "JSON that is valid against a JSON Schema", make_json},
      {"list", "a list of texts in their order", make_list},
      {"math", "numbers, expressions, intervals, tuples and sets, compared by value", make_math},
      {"number", "a number within a tolerance, with a unit", make_number},
      {"regex", "text that matches a regular expression", make_regex},
      {"set", "a list of texts in any order", make_set},
  };
  return all;
}

std::unique_ptr<const Verifier> make_verifier(const Json& expectation) {
  if (!expectation.is_object()) fail("expectation: expected an object, found {}", expectation.dump());
  if (const auto key = repeated_key(expectation)) fail("expectation: the key '{}' stands twice", *key);
  const std::string& name = text_field(expectation, "verifier");
  std::vector<std::string> known;
  for (const VerifierInfo& v : verifiers()) {
    if (v.name == name) return v.make(expectation);
    known.emplace_back(v.name);
  }
  fail("verifier '{}': expected one of {}{}", name, fmt::join(known, ", "), did_you_mean(name, known));
}

Verdict judge(const Json& expectation, std::string_view reply) { return make_verifier(expectation)->judge(reply); }

}  // namespace quern::verify
