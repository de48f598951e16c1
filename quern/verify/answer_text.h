// Finding the answer in a reply, and words and lists in an answer. Every function takes any bytes; cost: linear.
// An answer is marked by "Answer:" in any case ("Final answer :", "**Answer:**", a full-width colon) and follows on its
// line, or on the next where that is empty; a last line "#### 3" marks one too.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::verify {

std::string_view trimmed(std::string_view text);  // without white space of ASCII at both ends

std::string lower_case(std::string_view text);  // of ASCII

// What a text gives as its answer: behind </think>, the marked answer, else all of it;
// lower case, single spaces, no full stop at the end.
std::string final_answer(std::string_view text);

// The first that exists of: the last \boxed{…} after the thinking, the marked answer, the last
// non-empty line. Empty: none; a reply still inside <think> has none.
std::string extract_answer(std::string_view reply);
std::string_view after_thinking(std::string_view reply);  // empty where <think> does not end

// Without what only sets an answer off: white space, "$…$", "\(…\)", "**…**", "`…`", a final full stop.
std::string_view bare_answer(std::string_view answer);

// The answer that a reply states, bare: extract_answer(), and of "The answer is 3" what follows the last "answer is" (or
// "option is", "choice is"). The claim is that without a reason ("because …") and without talk that claims nothing more,
// on later lines too: "The answer is $7$. I hope it is correct."
struct StatedAnswer {
  std::string whole, claim;
};
StatedAnswer stated_answers(std::string_view reply);
// The claim.
std::string stated_answer(std::string_view reply);

// The text cut at commas, semicolons and blanks, without empty pieces.
std::vector<std::string_view> pieces_of(std::string_view text);
std::vector<std::string> answer_words(std::string_view text);  // the same as strings

// Where the braces that open before `at` close; nothing when they never do.
std::optional<size_t> closing_brace(std::string_view text, size_t at);

}  // namespace quern::verify
