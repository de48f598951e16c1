// The JSON document that a reply is, or holds in a ``` fence.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "quern/base/json.h"

namespace quern::verify {

constexpr size_t kMaxJsonReply = 1 << 20;

struct JsonReply {
  std::optional<Json> value = {};
  std::string problem = {};  // why there is none
};

std::optional<std::string> repeated_key(const Json& j);  // a key that stands twice in one object

// Text around one fence is allowed; a key that stands twice in an object is not.
JsonReply json_reply(std::string_view reply);

}  // namespace quern::verify
