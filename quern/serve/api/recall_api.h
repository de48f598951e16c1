// The search index over HTTP: searching, adding and removing documents.
#pragma once
#include <string>

#include "quern/base/json.h"
#include "quern/recall/store/current_store.h"

namespace quern::serve {

Json search_documents(recall::CurrentStore& index, const Json& body);
Json index_documents(recall::CurrentStore& index, const Json& body);
Json remove_document(recall::CurrentStore& index, const std::string& id);

}  // namespace quern::serve
