#include "quern/text/chat/message.h"

namespace quern::text {

Json messages_json(std::span<const Message> messages) {
  Json list = Json::array();
  for (const Message& m : messages) {
    Json one = Json::object();
    one.set("role", m.role), one.set("content", m.content);
    list.push(std::move(one));
  }
  return list;
}

Json user_message(const std::string& content) {
  const Message m{"user", content};
  return messages_json({&m, 1});
}

std::vector<Message> messages_from_json(const Json& list) {
  std::vector<Message> messages;
  for (const Json& m : list.as_array("messages"))
    messages.push_back({m.at("role", "message").as_string("role"), m.at("content", "message").as_string("content")});
  return messages;
}

}  // namespace quern::text
