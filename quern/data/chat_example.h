// A conversation as tokens to learn from. The template writes it turn by turn and each piece is tokenised by itself,
// as generation will meet it: what stands before an assistant's turn (the generation prompt included) is context,
// what the assistant writes up to and with its end-of-turn token is learnt, and the template's white space behind
// that is context again. The reasoning of a turn is what lies between <think> and </think>.
//
// ap_trim brings an example to a budget without touching an answer (answer-preserving trimming):
//   1. it fits: as it is   2. the end of the last turn's reasoning is cut, if that is enough
//   3. else all reasoning of earlier turns goes (its tags stay), and then 2. with what is left to save
//   4. else the example is dropped
// So the last answer is always whole, what reasoning stays is a beginning of what there was, and trimming twice is
// trimming once.
#pragma once
#include <optional>
#include <vector>

#include "quern/base/json.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/tokenizer/tokenizer.h"

namespace quern {

struct ChatExample {
  struct Span {
    int64_t begin = 0, end = 0;
    int64_t size() const { return end - begin; }
  };
  std::vector<int32_t> tokens;
  std::vector<uint8_t> learnt;   // per token: 1 where the assistant speaks
  std::vector<Span> reasonings;  // one an assistant turn, in order; empty where it has none
  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
};

// `messages` as in a line of chat JSONL: [{"role", "content"}, …] with an assistant turn at the end. `where` names
// the line in errors.
ChatExample encode_chat(const Json& messages, const ChatTemplate& chat_template, const Tokenizer& tokenizer,
                        const std::string& where);

std::optional<ChatExample> ap_trim(const ChatExample& x, int64_t budget);  // nothing: dropped

}  // namespace quern
