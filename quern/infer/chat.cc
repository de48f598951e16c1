#include "quern/infer/chat.h"

#include <algorithm>

#include "quern/base/error.h"

namespace quern {

Generated generate_text(Session& session, const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                        const GenerateOptions& options, const std::function<bool(std::string_view)>& on_piece) {
  StreamDecoder decoder(tokenizer, /*skip_special_tokens=*/true);
  Generated g = generate(session, prompt, options, [&](int32_t token) {
    std::string piece = decoder.push(token);
    return piece.empty() || on_piece(piece);
  });
  std::string rest = decoder.finish();
  if (!rest.empty()) on_piece(rest);
  return g;
}

Chat::Chat(Model& model, const Tokenizer& tokenizer, ChatTemplate chat_template, DType kv)
    : model_(model), tokenizer_(tokenizer), template_(std::move(chat_template)), kv_(kv), session_(model, kv) {}

void Chat::set_system(std::string text) {
  reset();
  if (!text.empty()) messages_.push_back({"system", std::move(text)});
}

void Chat::reset() {
  std::erase_if(messages_, [](const Message& m) { return m.role != "system"; });
  session_ = Session(model_, kv_);
  fed_.clear();
}

Json Chat::context() const {
  Json list = Json::array(), c = Json::object();
  for (const Message& m : messages_) {
    Json j = Json::object();
    j.set("role", m.role);
    j.set("content", m.content);
    list.push(std::move(j));
  }
  c.set("messages", std::move(list));
  c.set("add_generation_prompt", true);
  auto token = [&](const char* name, int32_t id) {
    c.set(name, id >= 0 ? tokenizer_.id_to_token(id) : std::string());
  };
  token("bos_token", tokenizer_.bos_id());
  token("eos_token", tokenizer_.eos_id());
  return c;
}

Generated Chat::turn(const std::string& user, const GenerateOptions& options,
                     const std::function<bool(std::string_view)>& on_piece) {
  messages_.push_back({"user", user});
  Generated g;
  try {
    // The template writes the special tokens itself.
    std::vector<int32_t> ids = tokenizer_.encode(template_.render(context()), {.add_special_tokens = false});
    bool continues = ids.size() > fed_.size() && std::equal(fed_.begin(), fed_.end(), ids.begin());
    if (!continues) {
      session_ = Session(model_, kv_);
      fed_.clear();
    }
    std::vector<int32_t> fresh(ids.begin() + static_cast<std::ptrdiff_t>(fed_.size()), ids.end());
    replayed_ = static_cast<int64_t>(fresh.size());
    std::string answer;
    g = generate_text(session_, tokenizer_, fresh, options, [&](std::string_view piece) {
      answer += piece;
      return on_piece(piece);
    });
    // What the session has really seen: the last sampled token is fed only by the next step.
    fed_ = ids;
    fed_.insert(fed_.end(), g.tokens.begin(), g.tokens.end());
    fed_.resize(static_cast<size_t>(session_.length()));
    messages_.push_back({"assistant", answer});
  } catch (...) {
    messages_.pop_back();
    session_ = Session(model_, kv_);
    fed_.clear();
    throw;
  }
  return g;
}

}  // namespace quern
