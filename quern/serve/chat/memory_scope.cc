#include "quern/serve/chat/memory_scope.h"

#include "quern/serve/wire/api_error.h"

namespace quern::serve {

std::string memory_user(const Caller& caller, const std::optional<std::string>& named, const char* field) {
  if (!named) return caller.owner();
  if (named->size() > 200) bad_field(field, "expected a name of at most 200 bytes");
  if (caller.reaches(*named)) return *named;
  ApiError e(
      403, "permission_error", "not_your_memory",
      fmt::format("the API key '{}' has a memory of its own and sees no other one: leave {} out, or use an admin "
                  "key",
                  caller.user, field));
  e.param = field;
  throw e;
}

}  // namespace quern::serve
