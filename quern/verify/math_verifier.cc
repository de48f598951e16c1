// "math": {"answer": text or number}. The reply's answer is what extract_answer() finds.
#include <algorithm>

#include "quern/math/answer.h"
#include "quern/math/modular.h"
#include "quern/verify/answer_text.h"
#include "quern/verify/expectation.h"
#include "quern/verify/verifier.h"

namespace quern::verify {
namespace {

// Whether touching letters are a word rather than factors: not in alphabetical order, or such as "not" and "almost".
bool is_word(std::string_view w) {
  if (w == "no" || w == "or" || w == "it") return true;
  if (w.size() < 3) return false;
  if (!std::ranges::is_sorted(w)) return true;
  if (w == "not" || w == "any" || w == "all" || w == "for" || w == "how" || w == "now") return true;
  const bool in_a_row = std::ranges::adjacent_find(w, [](char a, char b) { return b != a + 1; }) == w.end();
  return w.size() > 3 && !in_a_row && w.find_first_of("eiou", 1) != w.npos;
}

// A word that the grammar would read as a product of letters ("three"): letters that touch each other and are
// not in alphabetical order, as factors ("abc", "xyz") are. Empty: none.
std::string word_within(std::string_view text) {
  const auto is_letter = [](const math::MathToken& t) {
    return t.text.size() == 1 && (t.kind == math::MathTokenKind::variable || t.is_name("e") || t.is_name("i"));
  };
  std::string word;
  for (const math::MathToken& t : math::math_tokens(text)) {
    if (is_letter(t) && (word.empty() || !t.after_space)) {
      word += t.text;
      continue;
    }
    if (is_word(word)) return word;
    word = is_letter(t) ? t.text : "";
  }
  return {};
}

class MathVerifier : public Verifier {
 public:
  explicit MathVerifier(const std::string& answer) : text_(answer) {
    try {
      expected_ = math::parse_math_answer(bare_answer(answer));
      if (const std::string word = word_within(bare_answer(answer)); !word.empty())
        throw math::MathUnreadable(fmt::format(
            "'{}' would be a product of letters; write numbers in digits, factors with * between them", word));
    } catch (const math::MathUnreadable& e) {
      fail("field 'answer': '{}' is not a mathematical answer: {}", answer, e.what());
    }
    const math::MathComparison itself = math::compare_math(expected_, expected_, math::name_hash(answer, 0));
    if (!itself.same) fail("field 'answer': '{}' has no value that can be compared", answer);
  }

  Verdict judge(std::string_view reply) const override {
    const std::string found = stated_answer(reply);
    if (found.empty()) return {0, "no answer"};
    try {
      const uint64_t seed = math::name_hash(found, math::name_hash(text_, 1));
      const math::MathComparison c = math::compare_math(expected_, math::parse_math_answer(found), seed);
      if (c.same) return {1, c.reason};
      if (found.find(',') != found.npos) {  // "1,250" may also be two numbers
        const math::MathAnswer other = math::parse_math_answer(found, math::MathCommas::separate);
        if (const math::MathComparison again = math::compare_math(expected_, other, seed); again.same)
          return {1, again.reason};
      }
      return {0, c.reason};
    } catch (const math::MathUnreadable& e) {
      return {0, fmt::format("the answer cannot be read: {}", e.what())};
    }
  }

 private:
  std::string text_;
  math::MathAnswer expected_ = {};
};

}  // namespace

std::unique_ptr<const Verifier> make_math(const Json& expectation) {
  check_fields(expectation, {"answer"});
  const Json* answer = expectation.find("answer");
  if (answer && answer->is_number()) return std::make_unique<MathVerifier>(answer->dump());
  return std::make_unique<MathVerifier>(text_field(expectation, "answer"));
}

}  // namespace quern::verify
