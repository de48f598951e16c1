// POST /v1/chat/completions: streaming or not, several choices, log-probabilities, thinking separated from the answer,
// and test-time compute plans (`x_think`, or a model named like "zaya-nano:mrsa").
#pragma once
#include <optional>
#include <string>

#include "quern/serve/chat/grounding.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

// `plan`: what the model's name asked for, or empty. Answers g.body and tells what was found for it; returns the
// words of the first choice, thinking and calls aside; nothing when the client is gone or the engine failed.
std::optional<std::string> chat_completions(ServedModel& m, Exchange& e, const Grounded& g, const std::string& plan);

}  // namespace quern::serve
