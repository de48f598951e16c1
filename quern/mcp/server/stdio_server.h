// The stdio transport: one JSON message a line on standard input, answers on standard output, nothing else there. Calls
// run on a few threads, so that a cancellation or a ping is read while they do.
#pragma once
#include "quern/mcp/server/server.h"

namespace quern::mcp {

// Until the input ends or the output is closed. What was asked before the end is still answered.
void serve_stdio(const Server& server, int input, int output);

}  // namespace quern::mcp
