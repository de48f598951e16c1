// Tools, resources and a prompt over a search index (quern/recall).
#pragma once
#include <string>

#include "quern/mcp/server/server.h"

namespace quern::mcp {

void offer_documents(Server& server, const std::string& index_folder);  // throws Error when there is no index

}  // namespace quern::mcp
