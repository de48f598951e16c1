// POST /v1/chat/completions: whole or streamed, several choices, log-probabilities, thinking split from the answer,
// and plans that think longer (`x_think`, or a model named like "zaya-nano:mrsa").
#pragma once
#include <string>

#include "quern/serve/http_server.h"
#include "quern/serve/served_model.h"

namespace quern {

// `plan`: what the model's name asked for, or empty.
void chat_completions(ServedModel& m, Exchange& e, const Json& body, const std::string& plan);

}  // namespace quern
