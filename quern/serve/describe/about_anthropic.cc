// The endpoints of Anthropic's API.
#include "quern/serve/describe/about.h"

namespace quern::serve::about {

const char kMessages[] = R"json({"tag": "generation", "summary": "a message: whole or streamed",
"needs": ["model", "run"], "error": "AnthropicError", "answer": "AnthropicMessage", "body": "AnthropicRequest",
"stream": {"type": "object", "required": ["type"], "properties": {"type": {"enum": ["message_start", "message_delta",
  "message_stop", "content_block_start", "content_block_delta", "content_block_stop", "ping", "error"]}}}})json";

const char kCountTokens[] = R"json({"tag": "reading", "summary": "how many tokens a message would have",
"needs": ["model"], "error": "AnthropicError", "body": "AnthropicRequest",
"answer": {"type": "object", "required": ["input_tokens"], "properties": {
  "input_tokens": {"type": "integer", "minimum": 0}}}})json";

}  // namespace quern::serve::about
