// Test helper: a verifier against the test's own judge, on the right answer, on other forms of it, on replies close to
// it and on replies that are wrong for most problems.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "quern/gym/check_environment.h"

namespace quern::gym {

// A character or a word dropped, repeated, replaced or swapped with the next.
inline std::string close_answer(const std::string& answer, Rng& r) {
  constexpr std::string_view kCharacters = "0123456789abcxz ,-:()]}";
  std::string s = answer;
  const size_t at = r.below(s.size());
  std::vector<std::string> words;
  std::istringstream in(s);
  for (std::string w; in >> w;) words.push_back(w);
  const size_t word = r.below(words.size());
  switch (r.below(8)) {
    case 0:
      return s.erase(at, 1);
    case 1:
      return s.insert(at, 1, s[at]);
    case 2:
      return s.insert(at, 1, kCharacters[r.below(kCharacters.size())]);
    case 3:
      s[at] = kCharacters[r.below(kCharacters.size())];
      return s;
    case 4:
      std::swap(s[at], s[std::min(at + 1, s.size() - 1)]);
      return s;
    case 5:
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(word));
      break;
    case 6:
      words.push_back(words[word]);
      break;
    default:
      std::swap(words[word], words[r.below(words.size())]);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// The words of an answer with numbers in one form: "07, b" → {"7", "b"}.
inline std::vector<std::string> plain_answer_words(std::string s) {
  static const std::regex number("-?[0-9]{1,18}");
  std::ranges::replace_if(
      s, [](char c) { return c == ',' || c == ';'; }, ' ');
  std::vector<std::string> out;
  std::istringstream in(s);
  for (std::string w; in >> w;) {
    for (char& c : w) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    out.push_back(std::regex_match(w, number) ? std::to_string(std::stoll(w)) : w);
  }
  return out;
}

// Replies that are wrong for most problems, and some that are right in another form.
inline std::vector<std::string> other_replies(const Problem& p, const Problem& other) {
  return {"",
          "Answer:",
          p.question,
          "Answer: " + p.question,
          "Answer: .",
          "Answer: ,",
          "Answer: nan",
          "Answer: none",
          "Answer: 0",
          "Answer: -1",
          "Answer: 99999999999999999999",
          "Answer: " + p.answer + " 3",
          "Answer: 3 " + p.answer,
          "Answer: " + p.answer + "\nAnswer: nothing",
          "Answer: " + other.answer,
          fmt::format("Answer: {}, {}", p.answer, other.answer),
          fmt::format("<think>\nAnswer: {}\n</think>\n\nAnswer: {}", p.answer, other.answer),
          "Answer: " + std::string(3000, '1'),
          "Answer: \xff\xfe\x80, x\xc3 \xe2\x82",
          "Answer: \xff\xfe\n</think>"};
}

struct VerifierCheck {
  uint64_t seeds = 200;  // at each difficulty
  std::vector<int64_t> difficulties = {0, 1, 2, 3, 5, 8, 13};
  int close = 12;  // replies close to the right one, for each problem
};

// right(problem, final answer), the test's own, must agree with the verifier on every reply, and call p.answer right.
template <class Right>
void check_verifier(const std::string& name, Right&& right, const VerifierCheck& c = {}) {
  const NamedEnvironment& e = plugin_environments().find(name);
  Rng r(99);
  int refused = 0;
  for (int64_t d : c.difficulties)
    for (uint64_t seed = 0; seed < c.seeds && !testing::Test::HasFailure(); ++seed) {
      const Problem p = e.generate(seed, d);
      SCOPED_TRACE(plain_form(p));
      ASSERT_TRUE(right(p, final_answer(p.answer)));
      std::string upper = p.answer, spaced = p.answer;
      for (char& ch : upper) ch = static_cast<char>(std::toupper(static_cast<unsigned char>(ch)));
      std::ranges::replace(spaced, ',', ' ');
      for (const std::string& form : {upper, spaced, p.answer + ".", "So.\nAnswer:   " + p.answer + " \nDone."})
        EXPECT_EQ(e.verify(p, form).reward, 1) << form;
      std::vector<std::string> replies = other_replies(p, e.generate(seed + 1, d));
      for (int i = 0; i < c.close; ++i) replies.push_back("Answer: " + close_answer(p.answer, r));
      for (const std::string& reply : replies) {
        const std::string given = final_answer(reply);
        const bool is_right = !given.empty() && right(p, given);
        EXPECT_EQ(e.verify(p, reply).reward, is_right ? 1 : 0) << reply.substr(0, 200);
        refused += is_right ? 0 : 1;
      }
    }
  EXPECT_GT(refused, 1000);
}

}  // namespace quern::gym
