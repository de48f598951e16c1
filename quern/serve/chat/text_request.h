// A prompt that no chat template made, as a request: text goes in as it is, and comes out as it is.
#pragma once
#include <vector>

#include "quern/serve/chat/chat_request.h"

namespace quern::serve {

// The sampling, constraint, stream, progress and timeout fields of `body`, and max_tokens (the rest of the context when it
// is absent).
ChatRequest read_text_request(const ServedModel& m, const Json& body, std::vector<int32_t> prompt);

}  // namespace quern::serve
