// Synthetic stories and arithmetic, procedurally generated: short stories whose sentences are consistent (who, what,
// where, ending), and arithmetic with correct answers. Deterministic in (split, index). A tenth of all possible texts
// is held out by construction (by a hash of their content) and never trained on. Used by the demo, tests and benches;
// all text is generated here.
#pragma once
#include <cstdint>
#include <string>

namespace quern::data {

enum class Split { train, held_out };

std::string curriculum_story(Split split, uint64_t index);
std::string curriculum_sum(Split split, uint64_t index);   // "12 + 7 = 19." or "19 - 7 = 12.", operands below 20
std::string curriculum_text(Split split, uint64_t index);  // two stories to one sum

}  // namespace quern::data
