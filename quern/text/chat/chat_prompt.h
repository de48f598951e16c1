// Renders a conversation with a chat template, ready for generation. Messages are data: a special token spelled in a
// message stays ordinary text, whatever the template makes of it, while the template's own markers are special. An
// assistant's turn may contain <think> and </think>, which return its thinking.
//   How: every such spelling in a message is split by a character that Unicode will never assign, the template is
//   rendered, and the character is removed again; no added token is matched there (EncodeOptions::plain).
#pragma once
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::text {

struct PromptText {
  std::string text;
  std::vector<size_t> plain = {};  // offsets inside spellings that messages brought

  PromptText part(size_t begin, size_t end) const;
  void append(const PromptText& more);
  bool opens_thinking() const;  // ends inside a <think> of the template
  // The template writes the special tokens itself: none are added.
  std::vector<int32_t> encode(const Tokenizer& tokenizer) const;
};

// `messages`: [{"role", "content"}, …]. `more`: an object of further names the template may ask for (enable_thinking,
// tools …); it has the last word.
PromptText chat_prompt(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const Json& messages,
                       const Json& more = Json());
// The beginning of an assistant's turn behind a prompt: text in which only <think> and </think> are special.
PromptText turn_start(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const std::string& said);
std::string chat_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const Json& messages,
                      const Json& more = Json());

}  // namespace quern::text
