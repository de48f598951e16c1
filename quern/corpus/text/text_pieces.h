// Text units of the quality filters; lengths are in code points, white space is what \s is in zyda_features.h.
//   words       runs without white space
//   lines       between single line feeds, unchanged
//   paragraphs  between runs of two line feeds or more, of the text without white space at its ends
//   sentences   end at a run of . ! ? … 。 ！ ？, with closing quotes and brackets, before white space or the end; what
//               is left after the last end is one more
// No language-specific tokenizer is used: the same split for every language, in one pass.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::corpus {

bool is_space_at(std::string_view s, size_t i, size_t& length);  // length: of the character there, in bytes
std::string_view trimmed(std::string_view s);
void split_words(std::string_view s, std::vector<std::string_view>& words);
void split_lines(std::string_view s, std::vector<std::string_view>& lines);
void split_paragraphs(std::string_view s, std::vector<std::string_view>& paragraphs);
uint64_t count_sentences(std::string_view s);
bool ends_like_a_sentence(std::string_view s);                  // . ! ? " ' … 。 ！ ？ ” ’ »
std::string_view without_punctuation(std::string_view word);    // ASCII's, at both ends
uint64_t count_of(std::string_view s, std::string_view piece);  // without overlap
bool holds_ignoring_case(std::string_view s, std::string_view lower_ascii);

}  // namespace quern::corpus
