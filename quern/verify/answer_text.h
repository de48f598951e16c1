// Finding the answer in a reply, and words and lists in an answer. Every function takes any bytes; cost: linear.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::verify {

std::string_view trimmed(std::string_view text);  // without white space of ASCII at both ends

std::string lower_case(std::string_view text);  // of ASCII

// What a text gives as its answer: behind </think>, what follows the last "Answer:" on its line, else all of it;
// lower case, single spaces, no full stop at the end.
std::string final_answer(std::string_view text);

// The first that exists of: the last \boxed{…} after the thinking, what follows the last "Answer:" on its line, the last
// non-empty line. Empty: none; a reply still inside <think> has none.
std::string extract_answer(std::string_view reply);
std::string_view after_thinking(std::string_view reply);  // empty where <think> does not end

// Without what only sets an answer off: white space, "$…$", "\(…\)", "**…**", "`…`", a final full stop.
std::string_view bare_answer(std::string_view answer);

// The answer that a reply states: extract_answer(), bare, and of "The answer is 3" what follows the last "answer is".
std::string stated_answer(std::string_view reply);

// The text cut at commas, semicolons and blanks, without empty pieces.
std::vector<std::string_view> pieces_of(std::string_view text);
std::vector<std::string> answer_words(std::string_view text);  // the same as strings

// Where the braces that open before `at` close; nothing when they never do.
std::optional<size_t> closing_brace(std::string_view text, size_t at);

}  // namespace quern::verify
