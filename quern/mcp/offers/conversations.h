// What the memory tools do: turns of conversations by scope. The scope "user" is the conversation named "user", which
// all clients of the store share; the scope "conversation" is a conversation that the call names.
#pragma once
#include <string>

#include "quern/mcp/server/offers.h"
#include "quern/memory/service/conversation_pool.h"

namespace quern::mcp {

constexpr const char* kUserConversation = "user";

class Conversations final : public ResourceSource {
 public:
  Conversations(std::string file, std::string zone);
  ToolResult add(const Json& arguments);
  ToolResult ask(const Json& arguments);
  ToolResult list_turns(const Json& arguments);
  ToolResult forget(const Json& arguments);
  PromptResult prompt(const Json& arguments);

  std::vector<ResourceInfo> list() override;
  std::vector<ResourceTemplate> templates() override;
  std::optional<ResourceText> read(const std::string& uri) override;

 private:
  static memory::ConversationName name_in(const Json& arguments);
  static Json turn_json(memory::Memory& m, size_t row);
  static std::string turn_text(memory::Memory& m, size_t row);
  static Json ask_memory(memory::Memory& m, const Json& arguments, std::string& text);

  memory::ConversationPool pool_;
};

}  // namespace quern::mcp
