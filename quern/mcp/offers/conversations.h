// What the memory tools do: turns of conversations by scope. The scope "user" is the conversation named "user", which
// all clients of the store share; the scope "conversation" is a conversation that the call names.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "quern/mcp/server/offers.h"
#include "quern/memory/ask/memory.h"

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
  enum class Missing { refuse, create };                           // a conversation that is not there
  memory::Memory& open(const std::string& name, Missing missing);  // under the lock
  static std::string name_in(const Json& arguments);
  static Json turn_json(memory::Memory& m, size_t row);
  static std::string turn_text(memory::Memory& m, size_t row);
  Json ask_memory(memory::Memory& m, const Json& arguments, std::string& text);

  std::string file_, zone_;
  std::mutex mutex_;  // a Memory belongs to one thread at a time
  std::map<std::string, std::unique_ptr<memory::Memory>> open_;
};

}  // namespace quern::mcp
