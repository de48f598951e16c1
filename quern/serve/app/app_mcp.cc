// MCP servers: their lists and calls, for this server's own pages and for programs.
#include "quern/serve/api/mcp_api.h"
#include "quern/serve/app/app.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {

const mcp::Servers& App::mcp_servers(const Exchange& e) const {
  if (!o_.mcp)
    throw ApiError(404, "invalid_request_error", "no_mcp",
                   "this server has no MCP servers: it was started without a file that names them");
  refuse_foreign_page(e, "the tools");
  return *o_.mcp;
}

void App::list_mcp(Exchange& e) {
  const mcp::Servers& servers = mcp_servers(e);
  const std::string what = e.request().path.substr(std::string_view("/v1/mcp/").size());
  e.answer(200, "application/json", mcp_list_json(servers, what, e.request()).dump());
}

void App::call_mcp(Exchange& e) {
  const mcp::Servers& servers = mcp_servers(e);
  e.answer(200, "application/json", mcp_call_json(servers, read_body(e), [&e] { return e.gone(); }).dump());
}

}  // namespace quern::serve
