// POST /v1/completions: text or token ids, one or many prompts, streaming or not, and echo with log-probabilities of
// the prompt, which evaluation harnesses score with.
#pragma once
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

void completions(ServedModel& m, Exchange& e, const Json& body);

}  // namespace quern::serve
