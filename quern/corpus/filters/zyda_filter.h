// Zyda's eighteen rules, in the order of the paper's code and with its thresholds; the output text is squeezed. Rules
// 14 to 18 count words of lists that users bring (none come with Quern): without lists they never reject.
#pragma once
#include <string>

#include "quern/corpus/filters/filter.h"
#include "quern/corpus/filters/zyda_features.h"

namespace quern::corpus {

constexpr int kZydaRules = 18;

struct ZydaListCounts {
  uint64_t zh = 0, sexual = 0, profanity = 0, cursed = 0;
};

uint64_t zyda_failing(const ZydaFeatures& f, const ZydaListCounts& lists);  // bit i: rule i + 1 rejects

// `lists`: a folder with some of zh, sexual, profanity and cursed as .txt or .json (word_lists.h); empty: none.
FilterMaker zyda_filter(const std::string& lists = "");

}  // namespace quern::corpus
