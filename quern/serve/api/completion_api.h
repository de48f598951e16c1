// POST /v1/completions: text or token ids in, one or many prompts, echo with log-probabilities of the prompt itself
// (what evaluation harnesses score with), whole or streamed.
#pragma once
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern {

void completions(ServedModel& m, Exchange& e, const Json& body);

}  // namespace quern
