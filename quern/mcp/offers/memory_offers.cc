// memory_add, memory_ask, memory_list, memory_forget, the conversations as resources, the prompt recall_conversation.
#include "quern/mcp/offers/memory_offers.h"

#include "quern/mcp/offers/conversations.h"

namespace quern::mcp {
namespace {

// The arguments of every memory tool, and its own.
Json schema(const char* own, const char* required) {
  constexpr const char* kScope = R"("scope": {"enum": ["user", "conversation"],
    "description": "user: what is known across all conversations; conversation: one that is named. Absent: user, unless a conversation is named"},
  "conversation": {"type": "string", "minLength": 1, "maxLength": 200,
    "description": "The name of the conversation, with scope conversation"})";
  return Json::parse(fmt::format(R"({{"type": "object", "properties": {{{}, {}}}, "required": [{}],
    "additionalProperties": false}})",
                                 own, kScope, required));
}

constexpr const char* kAdd = R"("text": {"type": "string", "minLength": 1, "maxLength": 1000000,
    "description": "What was said, in full sentences that make sense later"},
  "speaker": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Who said it; user when absent"},
  "time": {"type": "string", "maxLength": 40,
    "description": "When it was said, such as 2026-05-08 13:56, with or without +02:00; now when absent"})";

constexpr const char* kAsk = R"("question": {"type": "string", "minLength": 1, "maxLength": 4000,
    "description": "A question about what was said. It may name a time (last Tuesday, in May), a speaker or a topic"},
  "speaker": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Who asks: whom I and my mean; user when absent"},
  "now": {"type": "string", "maxLength": 40, "description": "The time of the question; now when absent"},
  "k": {"type": "integer", "minimum": 1, "maximum": 100, "description": "How many turns to return; 10 when absent"})";

constexpr const char* kList = R"("limit": {"type": "integer", "minimum": 1, "maximum": 500,
    "description": "How many turns to return, the newest; 50 when absent"},
  "before": {"type": "integer", "minimum": 0, "maximum": 2147483647,
    "description": "Only turns with a smaller number: pages back in time"})";

constexpr const char* kForget = R"("response": {"type": "integer", "minimum": 0, "maximum": 2147483647,
    "description": "Delete the turn of this number"},
  "session": {"type": "integer", "minimum": 1, "maximum": 2147483647, "description": "Delete all turns of this session"},
  "before": {"type": "string", "maxLength": 40, "description": "Delete all turns before this time, such as 2026-05-08"},
  "everything": {"type": "boolean", "description": "Delete the whole conversation"})";

}  // namespace

void offer_memory(Server& server, const std::string& file, const std::string& zone) {
  const auto talks = std::make_shared<Conversations>(file, zone);
  server.add_tool({.name = "memory_add",
                   .title = "Remember",
                   .description = "Stores one turn of a conversation or one fact in the long-term memory, where "
                                  "memory_ask finds it later.",
                   .input_schema = schema(kAdd, "\"text\"")},
                  [talks](const Json& a, CallContext&) { return talks->add(a); });
  server.add_tool(
      {.name = "memory_ask",
       .title = "Search the memory",
       .description = "Finds the stored turns that answer a question, by time, speaker and topic. Ask before "
                      "answering questions about earlier conversations.",
       .input_schema = schema(kAsk, "\"question\""),
       .read_only = true,
       .idempotent = true},
      [talks](const Json& a, CallContext&) { return talks->ask(a); });
  server.add_tool(
      {.name = "memory_list",
       .title = "List the memory",
       .description = "Lists the conversations of the memory; with scope or conversation, the turns of one with "
                      "their numbers, newest last.",
       .input_schema = schema(kList, ""),
       .read_only = true,
       .idempotent = true},
      [talks](const Json& a, CallContext&) { return talks->list_turns(a); });
  server.add_tool(
      {.name = "memory_forget",
       .title = "Forget",
       .description = "Deletes turns permanently: one by its number, a session, all before a time, or everything. "
                      "Exactly one of these is given. It cannot be undone.",
       .input_schema = schema(kForget, ""),
       .destructive = true,
       .idempotent = true},
      [talks](const Json& a, CallContext&) { return talks->forget(a); });
  server.add_resources(talks);
  server.add_prompt({.name = "recall_conversation",
                     .title = "Answer from the memory",
                     .description = "Retrieves the stored turns for a question and asks for an answer from them",
                     .arguments = {{"question", "What to answer from earlier conversations", true},
                                   {"conversation", "The conversation; user when absent", false}}},
                    [talks](const Json& a) { return talks->prompt(a); });
}

}  // namespace quern::mcp
