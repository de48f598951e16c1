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
Json user_message(const std::string& content);              // a conversation that the user begins with this
std::vector<Message> messages_from_json(const Json& list);  // throws Error naming what is missing

}  // namespace quern::text
