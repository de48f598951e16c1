// GET /slots: the state of every queued and running request. Prompts and outputs are included only on request, and
// only if the server was started with permission to show them.
#pragma once
#include <memory>
#include <vector>

#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

enum class SlotText : bool { hidden, allowed };

// Whether the query asks for text (?text=true); throws ApiError where that is not allowed.
bool wants_text(const HttpRequest& r, SlotText allowed);
Json slots_json(const std::vector<std::shared_ptr<ServedModel>>& models, const HttpRequest& r, SlotText text);

}  // namespace quern::serve
