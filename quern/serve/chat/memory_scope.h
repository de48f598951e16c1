// Whose memory a request reads and writes. A key of the file of keys is a user of its own; everybody else shares the memory of
// nobody in particular and may name any user, as may admin keys.
#pragma once
#include <optional>
#include <string>

#include "quern/memory/service/conversation_pool.h"
#include "quern/serve/http/caller.h"

namespace quern::serve {

// The user that is named, else the caller's own; an ApiError (403) where the caller may not name that one.
std::string memory_user(const Caller& caller, const std::optional<std::string>& named, const char* field);

}  // namespace quern::serve
