// The part of ftfy's repair of text that Quern does before normalising, line by line in its order: HTML entities
// (while no line so far held '<'), ligatures, half and full width forms, curly quotes, line breaks, terminal escapes,
// control characters, NFC. Not done: mojibake (re-decoding of wrongly decoded text) and the C1 controls that belong
// to it. Named entities: those of HTML 4's Latin-1 set and some forty more; numbers all.
#pragma once
#include <string>
#include <string_view>

namespace quern::corpus {

bool needs_mending(std::string_view utf8);                // false: the words would stay as they are
void mend_text(std::string_view utf8, std::string& out);  // out is replaced

}  // namespace quern::corpus
