// Chat: a multi-turn conversation. Each turn renders the whole conversation with the chat template; the engine's
// prefix cache supplies everything but the new part.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/infer/engine/engine.h"
#include "quern/text/chat/chat_template.h"
#include "quern/text/chat/message.h"

namespace quern::infer {

class Chat {
 public:
  Chat(Engine& engine, const text::Tokenizer& tokenizer, text::ChatTemplate chat_template);
  // One turn; on_piece gets complete characters only and returns false to cancel. A turn that throws is discarded.
  Generated turn(const std::string& user, const GenerateOptions& options,
                 const std::function<bool(std::string_view)>& on_piece);
  void set_system(std::string text);  // and clear the conversation
  void reset();                       // the system message stays
  Json messages() const;
  std::vector<int32_t> tokens() const;      // of the conversation so far, ready for a next turn
  void set_messages(const Json& messages);  // continue from these

 private:
  Engine& engine_;
  const text::Tokenizer& tokenizer_;
  text::ChatTemplate template_;
  std::vector<text::Message> messages_;
};

}  // namespace quern::infer
