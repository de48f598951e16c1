// The routes of the memory of conversations and of the search index.
#include "quern/serve/api/memory_api.h"
#include "quern/serve/api/recall_api.h"
#include "quern/serve/app/app.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

MemoryCall memory_call(const Grounding& grounding, const Exchange& e) {
  if (!grounding.has_memory())
    throw ApiError(404, "invalid_request_error", "no_memory",
                   "this server has no conversation memory: it was started without a memory file");
  return {*grounding.memory(), e.caller};
}

recall::CurrentStore& documents_of(const Grounding& grounding) {
  if (!grounding.has_documents())
    throw ApiError(404, "invalid_request_error", "no_documents",
                   "this server has no documents: it was started without a search index");
  return *grounding.documents();
}

// All keys share the index.
recall::CurrentStore& documents_to_change(const Grounding& grounding, const Exchange& e) {
  recall::CurrentStore& index = documents_of(grounding);
  if (!e.caller.reaches_all())
    throw ApiError(
        403, "permission_error", "not_an_admin",
        fmt::format("the API key '{}' may search the documents; an admin key changes them", e.caller.user));
  return index;
}

std::string below(const Exchange& e, std::string_view prefix) { return e.request().path.substr(prefix.size()); }

void send(Exchange& e, const Json& j) { e.answer(200, "application/json", j.dump()); }

}  // namespace

void App::add_memory(Exchange& e) {
  refuse_foreign_page(e, "the memory");
  const MemoryCall call = memory_call(grounding_, e);
  send(e, add_memory_turns(call, parse_body(e)));
}
void App::search_memory(Exchange& e) {
  const MemoryCall call = memory_call(grounding_, e);
  send(e, serve::search_memory(call, parse_body(e)));
}
void App::memory_conversations(Exchange& e) {
  send(e, list_memory_conversations(memory_call(grounding_, e), e.request()));
}
void App::memory_turns(Exchange& e) { send(e, list_memory_turns(memory_call(grounding_, e), e.request())); }
void App::memory_export(Exchange& e) { export_memory(memory_call(grounding_, e), e); }
void App::delete_memory_turn(Exchange& e) {
  refuse_foreign_page(e, "the memory");
  send(e, forget_memory_turn(memory_call(grounding_, e), below(e, "/v1/memory/turns/")));
}
void App::delete_memory_conversation(Exchange& e) {
  refuse_foreign_page(e, "the memory");
  send(e, forget_memory_conversation(memory_call(grounding_, e), below(e, "/v1/memory/conversations/"), e.request()));
}

void App::search_recall(Exchange& e) {
  recall::CurrentStore& index = documents_of(grounding_);
  send(e, search_documents(index, parse_body(e)));
}
void App::index_recall(Exchange& e) {
  refuse_foreign_page(e, "the documents");
  recall::CurrentStore& index = documents_to_change(grounding_, e);
  send(e, index_documents(index, parse_body(e)));
}
void App::delete_recall(Exchange& e) {
  refuse_foreign_page(e, "the documents");
  recall::CurrentStore& index = documents_to_change(grounding_, e);
  send(e, remove_document(index, below(e, "/v1/recall/documents/")));
}

}  // namespace quern::serve
