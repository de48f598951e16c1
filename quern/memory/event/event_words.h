// Words that tell of the same event: "after I got the dog", told as "we adopted a dog".
#pragma once
#include <string_view>
#include <vector>

namespace quern::memory {

// Other words for `word` (lower case), as forms that turns have; empty for most.
std::vector<std::string_view> words_like(std::string_view word);

}  // namespace quern::memory
