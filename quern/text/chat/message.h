// The messages of a conversation.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "quern/base/json.h"

namespace quern::text {

struct Message {
  std::string role, content;
};

Json messages_json(std::span<const Message> messages);      // [{"role", "content"}, …]
std::vector<Message> messages_from_json(const Json& list);  // throws Error naming what is missing

}  // namespace quern::text
