// The memory of conversations over HTTP: adding turns, searching, listing, exporting and deleting them, for the users that
// a caller may see (chat/memory_scope.h).
#pragma once
#include <string>

#include "quern/base/json.h"
#include "quern/memory/service/conversation_pool.h"
#include "quern/serve/http/http_server.h"

namespace quern::serve {

struct MemoryCall {
  memory::ConversationPool& pool;
  const Caller& caller;
};

Json add_memory_turns(const MemoryCall& c, const Json& body);
Json search_memory(const MemoryCall& c, const Json& body);  // memory_search.cc
Json list_memory_conversations(const MemoryCall& c, const HttpRequest& r);
Json list_memory_turns(const MemoryCall& c, const HttpRequest& r);
Json forget_memory_turn(const MemoryCall& c, const std::string& id);
Json forget_memory_conversation(const MemoryCall& c, const std::string& name, const HttpRequest& r);
void export_memory(const MemoryCall& c, Exchange& e);  // JSON lines, as they are read

// A turn as the endpoints show it.
Json memory_turn_json(memory::Memory& m, size_t row);
// The conversations that a request means: of one user or of all whom the caller may see, all or those that are named.
// An ApiError (404) for a name that none has.
std::vector<memory::ConversationInfo> meant_conversations(const MemoryCall& c, const std::optional<std::string>& user,
                                                          const std::vector<std::string>& names);

}  // namespace quern::serve
