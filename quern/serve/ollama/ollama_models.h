// What Ollama's clients read about models: GET /api/tags and /api/ps, POST /api/show; and its embedding endpoints.
#pragma once
#include "quern/serve/api/models_api.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/ollama/ollama_reply.h"

namespace quern::serve {

Json ollama_tags_json(const ModelNames& names);
Json ollama_running_json(const ModelNames& names);
Json ollama_show_json(const ServedModel& m);

void ollama_embed(ServedModel& m, Exchange& e, const Json& body, const OllamaCall& call);
void ollama_embedding(ServedModel& m, Exchange& e, const Json& body);

}  // namespace quern::serve
