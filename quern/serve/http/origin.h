// Whether a browser page may use an endpoint that acts on the machine. Browsers name the page's origin in every POST;
// other programs name none.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/serve/http/http_message.h"

namespace quern::serve {

bool is_loopback_host(std::string_view host);  // "127.0.0.1:80", "localhost", "[::1]:8080"

// addresses: a page of this server's own name is trusted only if the name is an address or localhost, since another
// host's name can be made to point here.
enum class HostNames { any, addresses };
bool page_may_call(const HttpRequest& r, const std::vector<std::string>& allowed_origins, HostNames names);

}  // namespace quern::serve
