// The messages of a chat request as a template reads them.
#pragma once
#include "quern/base/json.h"

namespace quern {

// Checks roles and contents; parts of type text are joined, developer becomes system. What this server cannot read
// (images, sound) is an ApiError that names the message.
Json read_messages(const Json& body);

}  // namespace quern
