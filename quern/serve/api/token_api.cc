// Text to tokens and back.
#include "quern/serve/api/token_api.h"

#include "quern/serve/chat/chat_request.h"
#include "quern/serve/wire/api_error.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {

namespace {

// The bytes of a token as a text, or as numbers where they are no valid UTF-8.
Json piece_json(const text::Tokenizer& tokenizer, int32_t id) {
  const std::string text = tokenizer.decode(std::span(&id, 1));
  if (text.find("\xEF\xBF\xBD") == text.npos) return Json(text);
  Json bytes = Json::array();
  for (unsigned char c : text) bytes.push(int64_t{c});
  return bytes;
}

// `content` of llama-server, `prompt` or `messages` of vLLM.
std::vector<int32_t> read_tokens(const ServedModel& m, const Fields& f) {
  const auto content = f.text("content"), prompt = f.text("prompt");
  if (f.find("messages")) {
    if (content || prompt) bad_field("messages", "expected them, or a text, not both");
    Json asked = f.body();
    if (const auto wanted = f.boolean("add_generation_prompt")) {
      const Json* given = f.find("chat_template_kwargs");
      Json kwargs = given && given->is_object() ? *given : Json::object();
      kwargs.set("add_generation_prompt", *wanted), asked.set("chat_template_kwargs", std::move(kwargs));
    }
    ChatRequest r;
    return render_chat(m, Fields(asked), r).encode(m.tokenizer);
  }
  if (!content && !prompt) bad_field("content", "expected a text");
  const bool specials = f.boolean("add_special").value_or(f.boolean("add_special_tokens").value_or(false));
  return m.tokenizer.encode(
      content ? *content : *prompt,
      {.add_special_tokens = specials, .parse_special = f.boolean("parse_special").value_or(true)});
}

int32_t read_token_id(const Json& j, const ServedModel& m) {
  const Json* id = j.is_object() ? j.find("id") : &j;
  if (!id || !id->is_int() || id->as_int() < 0 || id->as_int() >= m.vocab_size())
    bad_field("tokens", "token ids run from 0 to {}", m.vocab_size() - 1);
  return static_cast<int32_t>(id->as_int());
}

}  // namespace

Json tokenize_json(const ServedModel& m, const Json& body) {
  const Fields f(body);
  const std::vector<int32_t> ids = read_tokens(m, f);
  const bool with_pieces = f.boolean("with_pieces").value_or(false);
  Json j = Json::object(), tokens = Json::array(), pieces = Json::array(), spelled = Json::array();
  for (int32_t id : ids) {
    Json one = id;
    if (with_pieces) {
      one = Json::object();
      one.set("id", id), one.set("piece", piece_json(m.tokenizer, id));
      pieces.push(m.tokenizer.decode(std::span(&id, 1)));
    }
    tokens.push(std::move(one)), spelled.push(m.tokenizer.id_to_token(id));
  }
  j.set("tokens", std::move(tokens)), j.set("count", static_cast<int64_t>(ids.size()));
  j.set("max_model_len", m.max_tokens());
  if (with_pieces) j.set("pieces", std::move(pieces));
  if (f.boolean("return_token_strs").value_or(false)) j.set("token_strs", std::move(spelled));
  return j;
}

Json detokenize_json(const ServedModel& m, const Json& body) {
  const Json* list = Fields(body).find("tokens");
  if (!list || !list->is_array()) bad_field("tokens", "expected a list of token ids");
  std::vector<int32_t> ids;
  for (const Json& id : list->as_array()) ids.push_back(read_token_id(id, m));
  Json j = Json::object();
  const std::string text = m.tokenizer.decode(ids);
  j.set("content", text), j.set("prompt", text);
  return j;
}

Json apply_template_json(const ServedModel& m, const Json& body) {
  ChatRequest r;
  Json j = Json::object();
  j.set("prompt", render_chat(m, Fields(body), r).text);
  return j;
}

}  // namespace quern::serve
