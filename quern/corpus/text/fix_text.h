// Fixes text in the way of ftfy, before normalization, line by line: wrongly decoded text (mojibake.h), HTML entities
// (while no line so far held '<'), C1 controls, ligatures, half- and full-width forms, curly quotes, line breaks, terminal
// escapes, control characters, NFC. Named entities: HTML 4's Latin-1 set and some forty more; numeric ones all.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

// The first byte from `from` on that repair may be about; npos: the words stay as they are.
size_t find_to_fix(std::string_view utf8, size_t from = 0);
void fix_text(std::string_view utf8, std::string& out);  // out is replaced

}  // namespace quern::corpus
