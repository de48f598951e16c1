// Tools, resources and a prompt over a conversation memory (quern/memory).
#pragma once
#include <string>

#include "quern/mcp/server/server.h"

namespace quern::mcp {

// The file is created if it is missing. zone: of conversations made now.
void offer_memory(Server& server, const std::string& file, const std::string& zone);

}  // namespace quern::mcp
