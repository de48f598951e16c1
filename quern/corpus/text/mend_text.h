// The part of ftfy's repair of text that Quern does before normalising, line by line in its order: HTML entities
// (while no line so far held '<'), ligatures, half and full width forms, curly quotes, line breaks, terminal escapes,
// control characters, NFC. Not done: mojibake (re-decoding of wrongly decoded text) and the C1 controls that belong
// to it. Named entities: those of HTML 4's Latin-1 set and some forty more; numbers all.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

// The first byte from `from` on that repair may be about; npos: the words stay as they are.
size_t find_to_mend(std::string_view utf8, size_t from = 0);
void mend_text(std::string_view utf8, std::string& out);  // out is replaced

}  // namespace quern::corpus
