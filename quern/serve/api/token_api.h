// POST /tokenize, /detokenize and /apply-template: what the model's tokenizer and chat template make of a text, to
// count tokens or to debug prompts.
#pragma once
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

Json tokenize_json(const ServedModel& m, const Json& body);
Json detokenize_json(const ServedModel& m, const Json& body);
Json apply_template_json(const ServedModel& m, const Json& body);

}  // namespace quern::serve
