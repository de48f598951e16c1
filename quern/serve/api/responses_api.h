// POST /v1/responses: chats in the OpenAI Responses API, with input and output items, at once or as events; a request
// may continue a stored response. Also GET and DELETE by id, and the input items of a response.
#pragma once
#include <string>
#include <vector>

#include "quern/serve/chat/grounding.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/keep/response_store.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

inline constexpr const char* kCustomInput = "input";  // parameter of a tool that takes a text

struct ResponseRequest {
  Json chat;                             // the same request in the chat form
  Json input;                            // its items
  Json messages;                         // of the conversation: earlier ones, then these; without instructions
  bool summary = false;                  // thinking is returned as the summary that was asked for
  std::vector<std::string> custom = {};  // names of tools that take a text instead of arguments
};
// `before`: what previous_response_id names, or null. An ApiError names what cannot be done.
struct StoredItems {  // that an item may refer to
  const ResponseStore& store;
  const Caller& who;
};
ResponseRequest read_response_request(const Json& body, const StoredResponse* before, const StoredItems& stored);

// What the request's prompt has in tokens, without generating.
Json input_tokens_json(const ServedModel& m, const Json& body, ResponseStore& store, const Caller& who);

void create_response(ServedModel& m, Exchange& e, const Json& body, ResponseStore& store, Grounding& grounding);

}  // namespace quern::serve
