// Fields of a request as llama-server names them, in the names of this server. Ollama's options are the same ones, but for a
// few names.
#pragma once
#include <vector>

#include "quern/base/json.h"
#include "quern/infer/engine/request.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

// The same body in own names; what asks for something that this server does not do is an ApiError that names the field.
Json own_fields(const Json& body, const text::Tokenizer& tokenizer);

// "generation_settings": what holds for a request, in llama-server's names.
Json llama_settings_json(const infer::GenerateOptions& options);

// A text, token ids, or a list that mixes both.
std::vector<int32_t> read_llama_prompt(const Json& prompt, const ServedModel& m);

}  // namespace quern::serve
