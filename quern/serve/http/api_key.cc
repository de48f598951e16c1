// API keys of requests.
#include "quern/serve/http/api_key.h"

namespace quern::serve {
namespace {

// As long for every wrong key of the same length.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned char different = a.size() != b.size();
  for (size_t i = 0; i < a.size(); ++i)
    different |= static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return different == 0;
}

}  // namespace

std::string_view given_key(const HttpRequest& r) {
  if (const std::string* key = r.header("x-api-key")) return *key;
  const std::string* a = r.header("authorization");
  return a && a->starts_with("Bearer ") ? std::string_view(*a).substr(7) : std::string_view();
}

bool is_admitted(const HttpRequest& r, const std::vector<std::string>& keys) {
  const std::string_view given = given_key(r);
  bool ok = keys.empty();
  for (const std::string& key : keys) ok = same_secret(given, key) || ok;
  return ok;
}

}  // namespace quern::serve
