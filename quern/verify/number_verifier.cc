// "number": {"answer": text or number, "relative": R [1e-9], "absolute": A [0], "unit": "required" | "optional"}. Right
// within either tolerance of the expected value; units of one dimension are converted.
#include <cctype>
#include <cmath>

#include "quern/verify/answer_text.h"
#include "quern/verify/expectation.h"
#include "quern/verify/units.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

long double base_value(const Quantity& q, const Unit& u) { return (q.number + u.offset) * u.factor; }

// Without a name of one letter, with or without an index, and "=": "x = 5", "v_0 = 3 m/s".
std::string_view without_name(std::string_view s) {
  const size_t equals = s.find('=');
  if (equals == s.npos) return s;
  const std::string_view name = trimmed(s.substr(0, equals));
  const bool letter = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  const bool is_name = letter && (name.size() == 1 || (name[1] == '_' && name.size() <= 4));
  return is_name ? bare_answer(s.substr(equals + 1)) : s;
}

class NumberVerifier : public Verifier {
 public:
  explicit NumberVerifier(const Json& e)
      : relative_(number_if_given(e, "relative").value_or(1e-9)),
        absolute_(number_if_given(e, "absolute").value_or(0)),
        unit_optional_(word_field(e, "unit", {"required", "optional"}) == "optional") {
    const Json* answer = e.find("answer");
    const std::string text = answer && answer->is_number() ? answer->dump() : text_field(e, "answer");
    const auto q = read_quantity(bare_answer(text));
    if (!q) fail("field 'answer': '{}' is not a number with or without a unit", text);
    expected_ = *q;
  }

  // An absolute tolerance is in the unit of the expectation.
  Verdict judge(std::string_view reply) const override {
    const std::string found = stated_answer(reply);
    if (found.empty()) return {0, "no answer"};
    const auto q = read_quantity(without_name(found));
    if (!q) return {0, "the answer is not one number with or without a known unit"};
    if (q->unit && !expected_.unit) return {0, "a unit that was not asked for"};
    if (!q->unit && expected_.unit && !unit_optional_) return {0, "the unit is missing"};
    long double given = q->number, right = expected_.number, slack = absolute_;
    if (q->unit) {
      if (q->unit->dimension != expected_.unit->dimension) return {0, "the unit measures something else"};
      given = base_value(*q, *q->unit), right = base_value(expected_, *expected_.unit);
      slack *= std::abs(expected_.unit->factor);
    }
    const long double apart = std::abs(given - right);
    if (apart <= slack || apart <= relative_ * std::abs(right)) return {1, "the number is right"};
    return {0, "the number is not within the tolerance"};
  }

 private:
  long double relative_, absolute_;
  bool unit_optional_;
  Quantity expected_ = {};
};

}  // namespace

std::unique_ptr<const Verifier> make_number(const Json& expectation) {
  check_fields(expectation, {"answer", "relative", "absolute", "unit"});
  return std::make_unique<NumberVerifier>(expectation);
}

}  // namespace quern::verify
