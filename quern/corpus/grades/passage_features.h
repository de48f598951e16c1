// What the surface of a passage shows: how long its words, sentences and lines are, what it is written with, and how many
// words of explaining and of addressing there are (English). Shares are of its words or of its characters.
// Cost: one pass over the bytes; bytes beyond ASCII count as letters.
#pragma once
#include <span>
#include <string_view>

namespace quern::corpus {

constexpr size_t kPassageFeatures = 19;

// A passage without a word has all features 0.
void passage_features(std::string_view utf8, std::span<float, kPassageFeatures> out);

}  // namespace quern::corpus
