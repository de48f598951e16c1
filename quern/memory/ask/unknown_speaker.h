// Names in the place of a speaker that no speaker has: "What did Peter say about the goose?".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/memory/time/time_words.h"

namespace quern::memory {

// `text`: of the words, in plain English; `people`: words of the speakers' names, lower case.
std::optional<std::string> unknown_speaker(std::string_view text, const TimeWords& words,
                                           const std::vector<std::string>& people);

}  // namespace quern::memory
