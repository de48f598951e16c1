// Messages of a chat request, checked and converted to what chat templates expect.
#pragma once
#include "quern/base/json.h"
#include "quern/serve/tools/tools.h"

namespace quern::serve {

// Checks roles, contents and calls; parts of type text are joined, developer becomes system. What this server cannot
// read (images, sound) is an ApiError that names the message.
Json read_messages(const Json& body);

// For templates that know of no tools: the tools are told in the system message, calls and results of earlier turns
// are spelled in the Hermes form.
Json tools_in_words(const Json& messages, const ToolUse& use);

}  // namespace quern::serve
