// "math": {"answer": text or number}. The reply's answer is what extract_answer() finds.
#include "quern/verify/answer_text.h"
#include "quern/verify/expectation.h"
#include "quern/verify/math/math_answer.h"
#include "quern/verify/math/math_modular.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

class MathVerifier : public Verifier {
 public:
  explicit MathVerifier(const std::string& answer) : text_(answer) {
    try {
      expected_ = parse_math_answer(bare_answer(answer));
    } catch (const MathUnreadable& e) {
      fail("field 'answer': '{}' is not a mathematical answer: {}", answer, e.what());
    }
    const MathComparison itself = compare_math(expected_, expected_, name_hash(answer, 0));
    if (!itself.same) fail("field 'answer': '{}' has no value that can be compared", answer);
  }

  Verdict judge(std::string_view reply) const override {
    const std::string found = stated_answer(reply);
    if (found.empty()) return {0, "no answer"};
    try {
      const uint64_t seed = name_hash(found, name_hash(text_, 1));
      const MathComparison c = compare_math(expected_, parse_math_answer(found), seed);
      if (c.same) return {1, c.reason};
      if (found.find(',') != found.npos) {  // "1,250" may also be two numbers
        const MathAnswer other = parse_math_answer(found, MathCommas::separate);
        if (const MathComparison again = compare_math(expected_, other, seed); again.same) return {1, again.reason};
      }
      return {0, c.reason};
    } catch (const MathUnreadable& e) {
      return {0, fmt::format("the answer cannot be read: {}", e.what())};
    }
  }

 private:
  std::string text_;
  MathAnswer expected_ = {};
};

}  // namespace

std::unique_ptr<const Verifier> make_math(const Json& expectation) {
  check_fields(expectation, {"answer"});
  const Json* answer = expectation.find("answer");
  if (answer && answer->is_number()) return std::make_unique<MathVerifier>(answer->dump());
  return std::make_unique<MathVerifier>(text_field(expectation, "answer"));
}

}  // namespace quern::verify
