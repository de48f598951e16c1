// Any bytes as a reply to one expectation of every verifier: a verdict with a reward from 0 to 1 and a reason, never an
// exception. The first byte chooses the verifier.
#include <cstdint>
#include <memory>
#include <vector>

#include "quern/base/error.h"
#include "quern/verify/verifier.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto verifiers = [] {
    std::vector<std::unique_ptr<const quern::verify::Verifier>> all;
    for (
        const char* e :
        {R"({"verifier": "math", "answer": "\\frac{x^2-1}{x+1} + \\sqrt{y}"})",
         R"({"verifier": "math", "answer": "{1, [2, 3), \\pi}"})",
         R"({"verifier": "number", "answer": "3.5 km/h", "relative": 0.01})",
         R"({"verifier": "choice", "choices": ["Rome", "Paris", "Oslo"], "answer": "B"})",
         R"({"verifier": "exact", "answer": "Paris", "punctuation": "ignore"})",
         R"({"verifier": "list", "answer": "a, b, c"})", R"({"verifier": "set", "answer": "a, b, c"})",
         R"({"verifier": "regex", "pattern": "(a|b)*c?\\d+", "in": "reply"})",
         R"({"verifier": "json", "schema": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["b"]}})",
         R"({"verifier": "instructions", "instructions": [{"kind": "words", "at_most": 9}, {"kind": "sentences", "at_most": 2},
              {"kind": "paragraphs", "at_most": 2}, {"kind": "bullets", "at_most": 2}, {"kind": "placeholders"},
              {"kind": "highlights"}, {"kind": "sections", "marker": "Part", "at_least": 1}, {"kind": "title"},
              {"kind": "contains", "texts": ["cat"]}, {"kind": "upper_case"}, {"kind": "json"}, {"kind": "two_responses"},
              {"kind": "language", "language": "en"}, {"kind": "postscript"}, {"kind": "capital_words", "at_most": 2}]})"})
      all.push_back(quern::verify::make_verifier(quern::Json::parse(e)));
    return all;
  }();
  if (size == 0 || size > 1 << 16) return 0;
  const std::string_view reply(reinterpret_cast<const char*>(data) + 1, size - 1);
  const quern::verify::Verdict v = verifiers[data[0] % verifiers.size()]->judge(reply);
  QUERN_CHECK(v.reward >= 0 && v.reward <= 1 && !v.reason.empty(), "reward {} '{}'", v.reward, v.reason);
  return 0;
}
