// One HTTP/1.1 request to a server by its URL, on a connection of its own. No TLS.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/mcp/client/client_error.h"
#include "quern/mcp/client/http_reply.h"

namespace quern::mcp {

struct HttpUrl {
  std::string host, port, path;   // path: with the query
  std::string authority() const;  // for the header Host
};
HttpUrl parse_url(const std::string& url);  // throws Error; https is refused by name

struct HttpCall {
  std::string method = "POST", body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Pieces of the body are handed to `on_body` with the head that came before; false ends the call. Throws ClientError.
using OnBody = std::function<bool(const HttpReplyReader& head, std::string_view piece)>;
void run_http_call(const HttpUrl& url, const HttpCall& call, const Until& until, const OnBody& on_body);

}  // namespace quern::mcp
