// API keys of requests.
#include "quern/serve/http/api_key.h"

namespace quern::serve {

std::string_view given_key(const HttpRequest& r) {
  if (const std::string* key = r.header("x-api-key")) return *key;
  const std::string* a = r.header("authorization");
  return a && a->starts_with("Bearer ") ? std::string_view(*a).substr(7) : std::string_view();
}

}  // namespace quern::serve
