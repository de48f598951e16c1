#include "quern/infer/engine/chat.h"

#include "quern/text/chat/chat_prompt.h"

namespace quern::infer {

Chat::Chat(Engine& engine, const text::Tokenizer& tokenizer, text::ChatTemplate chat_template)
    : engine_(engine), tokenizer_(tokenizer), template_(std::move(chat_template)) {}

void Chat::set_system(std::string text) {
  messages_.clear();
  if (!text.empty()) messages_.push_back({"system", std::move(text)});
}

void Chat::reset() {
  std::erase_if(messages_, [](const text::Message& m) { return m.role != "system"; });
}

Json Chat::messages() const { return text::messages_json(messages_); }

std::vector<int32_t> Chat::tokens() const {
  Json more = Json::object();
  more.set("add_generation_prompt", false);
  return text::chat_prompt(template_, tokenizer_, messages(), more).encode(tokenizer_);
}

void Chat::set_messages(const Json& messages) { messages_ = text::messages_from_json(messages); }

Generated Chat::turn(const std::string& user, const GenerateOptions& options,
                     const std::function<bool(std::string_view)>& on_piece) {
  messages_.push_back({"user", user});
  try {
    Request r;
    r.prompt = text::chat_prompt(template_, tokenizer_, messages()).encode(tokenizer_);
    r.options = options;
    r.on_token = [&](const Emitted& e) { return e.text.empty() || on_piece(e.text); };
    Generated g = engine_.run(std::move(r));
    messages_.push_back({"assistant", g.text});
    return g;
  } catch (...) {
    messages_.pop_back();
    throw;
  }
}

}  // namespace quern::infer
