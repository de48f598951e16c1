// quern run --mcp: a chat in the terminal whose model may call the tools of MCP servers, each call with permission.
#pragma once
#include <string>

#include "quern/infer/engine/engine.h"
#include "quern/models/checkpoint.h"

namespace quern::cli {

struct ServerChatOptions {
  std::string dir, system, servers;  // servers: the file that names them
  models::LoadOptions load;
  infer::GenerateOptions generate;
  infer::EngineOptions engine;
};
int chat_with_servers(const ServerChatOptions& options);

}  // namespace quern::cli
