// For tests: an MCP server that is a shell script, and behaves as its tools are named.
#pragma once
#include <string>

#include "quern/mcp/client/config.h"

namespace quern {

// Tools: echo (says "said: " and its text), fail (isError), silent (no answer), leave (ends in the middle of the call),
// noise (lines that are no messages, then an answer), giant (a line of 20 MB), large (a text of 600 kB), broken (a result
// that is none), slow (progress, then an answer), pid (its process number), secret (writes the variable TOKEN to standard
// error and ends).
mcp::ServerConfig script_server(const std::string& folder, const std::string& name = "script");

}  // namespace quern
