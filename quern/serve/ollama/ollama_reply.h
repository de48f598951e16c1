// Ollama's answers: a JSON object, or one a line while the text is written.
#pragma once
#include <string>

#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {

enum class OllamaForm { chat, generate };

struct OllamaCall {
  std::string name;         // of the model, as the client wrote it
  double load_seconds = 0;  // until the model was there
};

void ollama_chat(ServedModel& m, Exchange& e, const Json& body, const OllamaCall& call);
void ollama_generate(ServedModel& m, Exchange& e, const Json& body, const OllamaCall& call);
// The answer to a request that only loads or unloads.
Json ollama_loaded_json(OllamaForm form, const OllamaCall& call, const std::string& reason);
Json ollama_error_json(const ApiError& e);

int64_t nanoseconds(double seconds);

}  // namespace quern::serve
