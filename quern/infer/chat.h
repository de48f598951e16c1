// Text around generation: pieces of text as they become complete, and a conversation kept in one session so that each
// turn feeds only what is new.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "quern/infer/session.h"
#include "quern/text/chat_template.h"
#include "quern/text/tokenizer.h"

namespace quern {

// generate() with text: on_piece gets complete characters only and returns false to cancel.
Generated generate_text(Session& session, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                        const GenerateOptions& options, const std::function<bool(std::string_view)>& on_piece);

class Chat {
 public:
  Chat(Model& model, const Tokenizer& tokenizer, ChatTemplate chat_template, DType kv);
  // One turn. The session continues when the rendered conversation starts with the tokens already fed, else it is
  // fed again from the start (a template may rewrite earlier turns).
  Generated turn(const std::string& user, const GenerateOptions& options,
                 const std::function<bool(std::string_view)>& on_piece);
  void set_system(std::string text);
  void reset();
  int64_t replayed() const { return replayed_; }  // prompt tokens fed in the last turn

 private:
  struct Message {
    std::string role, content;
  };
  Json context() const;
  Model& model_;
  const Tokenizer& tokenizer_;
  ChatTemplate template_;
  DType kv_;
  Session session_;
  std::vector<int32_t> fed_;
  std::vector<Message> messages_;
  int64_t replayed_ = 0;
};

}  // namespace quern
