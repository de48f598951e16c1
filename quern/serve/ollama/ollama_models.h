// What Ollama's clients read about models: GET /api/tags and /api/ps, POST /api/show; and its embedding endpoints.
#pragma once
#include <functional>
#include <string>

#include "quern/serve/http/http_server.h"
#include "quern/serve/models/model_manager.h"
#include "quern/serve/ollama/ollama_reply.h"

namespace quern::serve {

using ModelShown = std::function<bool(const std::string& id)>;  // whether a model is listed
Json ollama_tags_json(const ModelManager& models, int64_t started, const ModelShown& shown);
Json ollama_running_json(const ModelManager& models, int64_t started, const ModelShown& shown);
Json ollama_show_json(const ServedModel& m);

void ollama_embed(ServedModel& m, Exchange& e, const Json& body, const OllamaCall& call);
void ollama_embedding(ServedModel& m, Exchange& e, const Json& body);

}  // namespace quern::serve
