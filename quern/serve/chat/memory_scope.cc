#include "quern/serve/chat/memory_scope.h"

#include "quern/serve/wire/api_error.h"

namespace quern::serve {

bool may_see(const Caller& caller, const std::string& user) {
  return !caller.own_memory || caller.admin || user == caller.user;
}

std::string memory_user(const Caller& caller, const std::optional<std::string>& named, const char* field) {
  if (!named) return caller.own_memory ? caller.user : "";
  if (named->size() > 200) bad_field(field, "expected a name of at most 200 bytes");
  if (may_see(caller, *named)) return *named;
  ApiError e(
      403, "permission_error", "not_your_memory",
      fmt::format("the API key '{}' has a memory of its own and sees no other one: leave {} out, or use an admin "
                  "key",
                  caller.user, field));
  e.param = field;
  throw e;
}

}  // namespace quern::serve
