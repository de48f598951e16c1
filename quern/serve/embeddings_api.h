// POST /v1/embeddings: the mean of a text's last hidden states, of length 1.
#pragma once
#include "quern/serve/http_server.h"
#include "quern/serve/served_model.h"

namespace quern {

void embeddings(ServedModel& m, Exchange& e, const Json& body);

std::string base64(std::string_view bytes);

}  // namespace quern
