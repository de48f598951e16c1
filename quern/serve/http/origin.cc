// Origins and hosts.
#include "quern/serve/http/origin.h"

#include <algorithm>

namespace quern::serve {
namespace {

bool is_address(std::string_view host) {
  if (host.starts_with("[") || is_loopback_host(host)) return true;
  return host.substr(0, host.find(':')).find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  if (host.starts_with("[")) return host.substr(0, host.find(']') + 1) == "[::1]";
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "localhost" || name == "127.0.0.1";
}

bool page_may_call(const HttpRequest& r, const std::vector<std::string>& allowed_origins, HostNames names) {
  const std::string *origin = r.header("origin"), *host = r.header("host");
  if (!origin) return true;
  const bool allowed = std::any_of(allowed_origins.begin(), allowed_origins.end(),
                                   [&](const std::string& o) { return o == "*" || o == *origin; });
  if (allowed) return true;
  const size_t scheme = origin->find("://");
  if (scheme == origin->npos || !host || std::string_view(*origin).substr(scheme + 3) != *host) return false;
  return names == HostNames::any || is_address(*host);
}

}  // namespace quern::serve
