// The API key of a request, and whether it is one of the server's.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quern/serve/http/http_message.h"

namespace quern::serve {

std::string_view given_key(const HttpRequest& r);  // of x-api-key, or Authorization: Bearer; empty: none
// Compares in a time that depends on the lengths alone. No keys: everybody is admitted.
bool is_admitted(const HttpRequest& r, const std::vector<std::string>& keys);

}  // namespace quern::serve
