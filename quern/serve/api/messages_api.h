// POST /v1/messages and /v1/messages/count_tokens: the Anthropic API. A request is converted to the OpenAI form and
// served like every chat; the response is written as content blocks: thinking, text, tool_use.
#pragma once
#include <optional>
#include <string>

#include "quern/serve/chat/grounding.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {

// The same request in the OpenAI form; an ApiError names what it cannot say.
Json chat_body_of_messages(const Json& body);

// g: of chat_body_of_messages. Returns the words of the answer; nothing when it did not come to its end.
std::optional<std::string> anthropic_messages(ServedModel& m, Exchange& e, const Grounded& g);
Json count_tokens_json(const ServedModel& m, const Json& body);
Json anthropic_error_json(const ApiError& e, const std::string& request_id);

}  // namespace quern::serve
