// The API key of a request, and which of the server's keys it is. Keys are known by their digests.
#pragma once
#include <string_view>

#include "quern/serve/http/http_message.h"
#include "quern/serve/http/sha256.h"

namespace quern::serve {

std::string_view given_key(const HttpRequest& r);  // of x-api-key, or Authorization: Bearer; empty: none

// The one of `keys`, a list of what has a `digest`, that was given, or null. All are compared, in a time that does not depend
// on the key.
template <class Keys>
const typename Keys::value_type* find_key(const Keys& keys, std::string_view given) {
  const Sha256Digest digest = sha256(given);
  const typename Keys::value_type* found = nullptr;
  for (const auto& k : keys)
    if (same_digest(k.digest, digest)) found = &k;
  return found;
}

}  // namespace quern::serve
