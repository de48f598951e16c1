// Tools over language models: chat, generate, tokenize.
#pragma once
#include "quern/mcp/server/server.h"
#include "quern/serve/models/model_manager.h"

namespace quern::mcp {

void offer_models(Server& server, serve::ModelManager& models);  // which outlives the server

}  // namespace quern::mcp
