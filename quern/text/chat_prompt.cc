// What every template may ask for: the messages, the generation prompt, the tokenizer's own tokens.
#include "quern/text/chat_prompt.h"

namespace quern {

std::string chat_text(const ChatTemplate& chat_template, const Tokenizer& tokenizer, const Json& messages,
                      const Json& more) {
  Json c = Json::object();
  c.set("messages", messages);
  c.set("add_generation_prompt", true);
  auto token = [&](const char* name, int32_t id) {
    c.set(name, id >= 0 ? tokenizer.id_to_token(id) : std::string());
  };
  token("bos_token", tokenizer.bos_id());
  token("eos_token", tokenizer.eos_id());
  if (more.is_object())
    for (const auto& [name, value] : more.as_object()) c.set(name, value);
  return chat_template.render(c);
}

}  // namespace quern
