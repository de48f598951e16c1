// Text made by our own generator: short stories whose sentences agree with each other (who, what, where, with a
// consistent ending), and arithmetic whose answers are right. Deterministic in (seed, index).
// It feeds the demo, tests and benches; nothing in it is taken from anywhere.
#pragma once
#include <cstdint>
#include <string>

namespace quern {

std::string curriculum_story(uint64_t seed, uint64_t index);
std::string curriculum_sum(uint64_t seed, uint64_t index);      // "12 + 7 = 19." and the like, two operands
std::string curriculum_text(uint64_t seed, uint64_t index);     // two stories to one sum

}  // namespace quern
