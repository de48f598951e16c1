// Instructions about the form of a reply, each checked by itself: {"kind": "words", "at_most": 50}.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/base/json.h"

namespace quern::verify {

// What is wrong with a reply (without its thinking, trimmed, valid UTF-8); nothing when the instruction is followed.
using InstructionCheck = std::function<std::optional<std::string>(std::string_view)>;

InstructionCheck make_instruction(const Json& instruction);  // throws Error naming the field
std::vector<std::string> instruction_kinds();

}  // namespace quern::verify
