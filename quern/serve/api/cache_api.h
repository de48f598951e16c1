// GET /v1/cache: the prefix caches of the loaded models as trees, for the web UI and for people. The beginning of each
// stretch of text is included only on request, and only where the server may show it.
#pragma once
#include <functional>
#include <string>

#include "quern/serve/api/slots_api.h"
#include "quern/serve/models/model_manager.h"

namespace quern::serve {

// Of the models that are `shown`.
Json cache_json(ModelManager& manager, const HttpRequest& r, SlotText text,
                const std::function<bool(const std::string& id)>& shown);

}  // namespace quern::serve
