// Texts in the form in which they are compared: case, space and punctuation as an expectation sets them.
#pragma once
#include <string>
#include <string_view>

#include "quern/base/json.h"

namespace quern::verify {

enum class Letters { ignored, kept };
enum class Space { collapsed, removed, kept };
enum class Punctuation { kept, ignored };

struct PlainTextOptions {
  Letters letter_case = Letters::ignored;
  Space space = Space::collapsed;
  Punctuation punctuation = Punctuation::kept;
};

// Fields "case", "space", "punctuation". Throws Error naming the field.
PlainTextOptions plain_text_options(const Json& expectation);

std::string plain_text(std::string_view text, const PlainTextOptions& o);  // any bytes; ill-formed ones become U+FFFD

}  // namespace quern::verify
