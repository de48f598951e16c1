// What a reply gives as its code or its value. In contrast to the gym's final answer, case and blanks are kept. A reply
// that is still inside <think> gives nothing.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace quern::code {

// The last block between ``` fences after the thinking, up to the end where its closing fence is missing. Nothing: no
// fence.
std::optional<std::string> fenced_code(std::string_view reply);

// What follows the last "Answer:" after the thinking, on its line; without one, all that follows the thinking.
// Blanks around it and full stops at its end are left out.
std::string_view answer_text(std::string_view reply);

}  // namespace quern::code
