// The MCP servers of --mcp FILE.
#pragma once
#include <memory>
#include <string>

#include "quern/mcp/client/servers.h"

namespace quern::cli {

std::shared_ptr<mcp::Servers> read_mcp_servers(const std::string& file);  // notes on the file go to stderr

}  // namespace quern::cli
