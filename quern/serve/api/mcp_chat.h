// Chat completions with the tools of MCP servers: rounds of calls and results until the model answers, or until a call
// needs a permission that the request does not give.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "quern/mcp/client/servers.h"
#include "quern/serve/chat/grounding.h"
#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

// run: now. refuse: the model is told that it may not. hand_back: the client is asked, with all calls of the round.
enum class ToolPermission { run, refuse, hand_back };

struct ToolRounds {
  mcp::ToolListing listing;
  std::function<ToolPermission(const mcp::NamedTool& tool, const Json& arguments)> permission;
  int64_t max_rounds = 8;
};

// The field `mcp` of a request; nothing without one. An ApiError names what is wrong with it. servers: null where there
// are none.
std::optional<ToolRounds> read_tool_rounds(const Json& body, const mcp::Servers* servers);

// As chat_completions (chat_api.h), which every round is; g.body without the field `mcp`. The answer has a member x_mcp.
std::optional<std::string> chat_with_tools(ServedModel& m, Exchange& e, const Grounded& g, const std::string& plan,
                                           const ToolRounds& rounds);

// Either of them, as the request wants it.
std::optional<std::string> chat_as_asked(ServedModel& m, Exchange& e, Grounded g, const std::string& plan,
                                         const mcp::Servers* servers);

}  // namespace quern::serve
