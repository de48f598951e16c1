// Requests as Ollama's clients write them, in this server's own form.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "quern/serve/chat/chat_request.h"

namespace quern::serve {

// The `model` (or `name`) of a body without ":latest"; an ApiError when there is none.
std::string ollama_model_id(const Json& body);

// The chat form of POST /api/chat, and of /api/generate, whose prompt is a user's message there.
Json ollama_chat_body(const Json& body, const text::Tokenizer& tokenizer);
Json ollama_prompt_body(const Json& body, const text::Tokenizer& tokenizer);

// Nothing to answer: the request only loads the model, or unloads it.
bool only_loads(const Json& body);

// keep_alive: "5m", "1h30m", a number of seconds; below 0: without end. Nothing: the request does not say.
std::optional<double> ollama_keep_alive(const Json& body);

}  // namespace quern::serve
