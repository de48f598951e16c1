// Text to tokens and back.
#include "quern/serve/api/token_api.h"

#include "quern/serve/chat/chat_request.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {

Json tokenize_json(const ServedModel& m, const Json& body) {
  const Fields f(body);
  const auto content = f.text("content"), prompt = f.text("prompt");
  if (!content && !prompt) bad_field("content", "expected a text");
  const std::vector<int32_t> ids = m.tokenizer.encode(content ? *content : *prompt,
                                                      {.add_special_tokens = f.boolean("add_special").value_or(false),
                                                       .parse_special = f.boolean("parse_special").value_or(true)});
  Json j = Json::object(), tokens = Json::array();
  for (int32_t id : ids) tokens.push(id);
  j.set("tokens", std::move(tokens)), j.set("count", static_cast<int64_t>(ids.size()));
  if (f.boolean("with_pieces").value_or(false)) {
    Json pieces = Json::array();
    for (int32_t id : ids) pieces.push(m.tokenizer.decode(std::span(&id, 1)));
    j.set("pieces", std::move(pieces));
  }
  return j;
}

Json detokenize_json(const ServedModel& m, const Json& body) {
  const Json* list = Fields(body).find("tokens");
  if (!list || !list->is_array()) bad_field("tokens", "expected a list of token ids");
  std::vector<int32_t> ids;
  for (const Json& id : list->as_array()) {
    if (!id.is_int() || id.as_int() < 0 || id.as_int() >= m.model->vocab_size())
      bad_field("tokens", "token ids run from 0 to {}", m.model->vocab_size() - 1);
    ids.push_back(static_cast<int32_t>(id.as_int()));
  }
  Json j = Json::object();
  j.set("content", m.tokenizer.decode(ids));
  return j;
}

Json apply_template_json(const ServedModel& m, const Json& body) {
  ChatRequest r;
  Json j = Json::object();
  j.set("prompt", render_chat(m, Fields(body), r).text);
  return j;
}

}  // namespace quern::serve
