// GET /slots: the state of every queued and running request. Prompts and outputs are included only on request, and
// only if the server was started with permission to show them.
#pragma once
#include <memory>
#include <vector>

#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern::serve {

enum class SlotText : bool { hidden, allowed };

Json slots_json(const std::vector<std::shared_ptr<ServedModel>>& models, const HttpRequest& r, SlotText text);

}  // namespace quern::serve
