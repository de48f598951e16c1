// llama-server's own endpoints: POST /completion (and /completions), /infill, /embedding (and /embeddings), and the fields
// of GET /props that its clients read.
#pragma once
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

void llama_completion(ServedModel& m, Exchange& e, const Json& body);
void llama_infill(ServedModel& m, Exchange& e, const Json& body);
void llama_embedding(ServedModel& m, Exchange& e, const Json& body);
// Adds default_generation_settings, total_slots, chat_template, … of the model to an object.
void tell_llama_props(const ServedModel& m, Json& props);

}  // namespace quern::serve
