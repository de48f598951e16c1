// A conversation as training tokens with a loss mask. The template is rendered turn by turn and each piece is
// tokenized separately, as during generation: what precedes an assistant's turn (including the generation prompt) is
// context, the assistant's text up to its end-of-turn token is trained on, and the template's white space after that
// is context again. The reasoning of a turn is the text between <think> and </think>.
//
// ap_trim shortens an example to a budget without changing an answer (answer-preserving trimming):
//   1. it fits: unchanged   2. the end of the last turn's reasoning is cut, if that is enough
//   3. else all reasoning of earlier turns is removed (its tags stay), and then 2. with what is left to save
//   4. else the example is dropped
// So the last answer is always complete, remaining reasoning is a prefix of the original, and trimming is idempotent.
#pragma once
#include <optional>
#include <vector>

#include "quern/base/json.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern::data {

struct ChatExample {
  struct Span {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
  };
  std::vector<int32_t> tokens;
  std::vector<uint8_t> learned;  // per token: 1 where the assistant speaks
  std::vector<Span> reasonings;  // one an assistant turn, in order; empty where it has none
  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
};

// `messages` as in a line of chat JSONL: [{"role", "content"}, …] with an assistant turn at the end. `where` names
// the line in errors.
ChatExample encode_chat(const Json& messages, const text::ChatTemplate& chat_template,
                        const text::Tokenizer& tokenizer, const std::string& where);

std::optional<ChatExample> ap_trim(const ChatExample& x, int64_t budget);  // nothing: dropped

}  // namespace quern::data
