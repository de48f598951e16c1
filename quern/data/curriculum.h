// Text made by our own generator: short stories whose sentences agree with each other (who, what, where, with a
// consistent ending), and arithmetic whose answers are right. Deterministic in (split, index).
// A tenth of all possible texts is held out by construction (by a hash of what it says): it is never trained on.
// It feeds the demo, tests and benches; nothing in it is taken from anywhere.
#pragma once
#include <cstdint>
#include <string>

namespace quern {

enum class Split { train, held_out };

std::string curriculum_story(Split split, uint64_t index);
std::string curriculum_sum(Split split, uint64_t index);   // "12 + 7 = 19." or "19 - 7 = 12.", operands below 20
std::string curriculum_text(Split split, uint64_t index);  // two stories to one sum

}  // namespace quern
