// GET /v1/mcp/servers, tools, resources and prompts, and POST /v1/mcp/call: MCP servers for the web UI and other clients.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "quern/base/json.h"
#include "quern/mcp/client/servers.h"
#include "quern/serve/http/http_message.h"

namespace quern::serve {

// `what`: the end of the path. An unknown one is a 404.
Json mcp_list_json(const mcp::Servers& servers, const std::string& what, const HttpRequest& r);
// Given up when the client is `gone`.
Json mcp_call_json(const mcp::Servers& servers, const Json& body, const std::function<bool()>& gone);

Json unread_servers_json(const std::vector<mcp::UnreadServer>& errors);
// The server of that name; an ApiError (404) names those there are. `field`: of the request.
std::shared_ptr<mcp::RemoteServer> mcp_server_named(const mcp::Servers& servers, const std::string& name,
                                                    const std::string& field);

}  // namespace quern::serve
