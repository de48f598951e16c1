// POST /tokenize, /detokenize and /apply-template: what the model's tokenizer and template make of a text, for those
// who count tokens or look for the reason of an odd answer.
#pragma once
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern {

Json tokenize_json(const ServedModel& m, const Json& body);
Json detokenize_json(const ServedModel& m, const Json& body);
Json apply_template_json(const ServedModel& m, const Json& body);

}  // namespace quern
