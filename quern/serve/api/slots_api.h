// GET /slots: what every request that waits or is in work is doing. What it says is shown only to whom asks for it,
// by a server that was started to allow that.
#pragma once
#include <memory>
#include <vector>

#include "quern/serve/http/http_server.h"
#include "quern/serve/models/served_model.h"

namespace quern {

Json slots_json(const std::vector<std::shared_ptr<ServedModel>>& models, const HttpRequest& r, bool may_show_text);

}  // namespace quern
