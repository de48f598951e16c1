// A conversation as the text a template writes for it, ready for the answer.
#pragma once
#include <string>

#include "quern/base/json.h"
#include "quern/text/chat_template.h"
#include "quern/text/tokenizer.h"

namespace quern {

// `messages`: [{"role", "content"}, …]. The template writes the special tokens itself: encode without adding them.
// `more`: an object of further names the template may ask for (enable_thinking, tools …); it has the last word.
std::string chat_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const Json& messages,
                      const Json& more = Json());

}  // namespace quern
