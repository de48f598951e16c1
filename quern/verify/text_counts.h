// Counting in texts, for instructions about form. Texts are valid UTF-8. Cost: linear.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace quern::verify {

std::vector<std::string_view> lines_of(std::string_view text);

// Pieces between blanks that hold a letter or a digit: "don't" and "well-known" are one word each.
int64_t count_words(std::string_view text);

// Ends of sentences: . ! ? … or 。！？ before a blank or the end, with quotes and brackets between; not after an initial
// or an abbreviation such as "Dr." or "e.g.". Words after the last end are one more sentence.
int64_t count_sentences(std::string_view text);

int64_t count_paragraphs(std::string_view text);     // parted by blank lines, or lines of "***"
int64_t count_bullets(std::string_view text);        // lines that begin with "* ", "- ", "+ " or "• "
int64_t count_placeholders(std::string_view text);   // [address]
int64_t count_highlights(std::string_view text);     // *text* or **text**, on one line
int64_t count_capital_words(std::string_view text);  // words of two letters or more, all of them capital

// How often `word` stands in the text where no letter or digit adjoins it; case does not count.
int64_t count_keyword(std::string_view text, std::string_view word);

// Lines that begin with `marker` and a number or a letter of numbering: "Section 1", "SECTION X".
int64_t count_sections(std::string_view text, std::string_view marker);

}  // namespace quern::verify
