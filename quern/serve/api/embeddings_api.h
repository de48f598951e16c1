// POST /v1/embeddings: the mean of a text's last hidden states, normalized to length 1.
#pragma once
#include <span>
#include <vector>

#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

// One text's. Read in pieces between the engine's steps; a piece of it when the client is gone.
std::vector<float> embed_tokens(ServedModel& m, std::span<const int32_t> ids, const Exchange& e);

struct EmbeddedInputs {
  std::vector<std::vector<float>> rows;  // fewer when the client is gone
  std::vector<int64_t> tokens;           // of each
};
// The `input` of a body: a text, token ids, or a list of either.
EmbeddedInputs embed_inputs(ServedModel& m, const Json& body, Exchange& e);

void embeddings(ServedModel& m, Exchange& e, const Json& body);

}  // namespace quern::serve
