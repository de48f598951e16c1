// POST /v1/responses: chats in the OpenAI Responses API, with input and output items, at once or as events; a request
// may continue a stored response. Also GET and DELETE by id, and the input items of a response.
#pragma once
#include "quern/serve/chat/grounding.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/keep/response_store.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

struct ResponseRequest {
  Json chat;      // the same request in the chat form
  Json input;     // its items
  Json messages;  // of the conversation: earlier ones, then these; without instructions
};
// `before`: what previous_response_id names, or null. An ApiError names what cannot be done.
ResponseRequest read_response_request(const Json& body, const StoredResponse* before);

void create_response(ServedModel& m, Exchange& e, const Json& body, ResponseStore& store, Grounding& grounding);

}  // namespace quern::serve
