// A conversation as the text a template writes for it, ready for the answer. What messages say is data: a special
// token spelt in one stays a row of ordinary characters, whatever the template makes of it, while the template's own
// marks are special. An assistant's turn may spell <think> and </think>: they are how its thinking is handed back.
//   How: every such spelling in a message is parted by a character that Unicode will never assign, the template is
//   rendered, and the character is taken out again; where it stood no added token is found (EncodeOptions::plain).
#pragma once
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern {

struct PromptText {
  std::string text;
  std::vector<size_t> plain = {};  // offsets inside spellings that messages brought

  PromptText part(size_t begin, size_t end) const;
  bool opens_thinking() const;  // ends inside a <think> of the template
  // The template writes the special tokens itself: none are added.
  std::vector<int32_t> encode(const Tokenizer& tokenizer) const;
};

// `messages`: [{"role", "content"}, …]. `more`: an object of further names the template may ask for (enable_thinking,
// tools …); it has the last word.
PromptText chat_prompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const Json& messages,
                       const Json& more = Json());
std::string chat_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const Json& messages,
                      const Json& more = Json());

}  // namespace quern
