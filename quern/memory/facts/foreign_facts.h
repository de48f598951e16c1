// Questions about facts that change, in German, French, Spanish and Chinese: they are told from others, so that their
// answer can say that such questions are read in English only.
#pragma once
#include <string_view>

namespace quern::memory {

bool asks_fact_elsewhere(std::string_view folded);  // lower case, without accents

}  // namespace quern::memory
