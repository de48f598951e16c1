// GET /v1/cache: the prefix caches of the loaded models as trees, for the web UI and for people. The beginning of each
// stretch of text is included only on request, and only where the server may show it.
#pragma once
#include "quern/serve/api/slots_api.h"
#include "quern/serve/models/model_manager.h"

namespace quern::serve {

Json cache_json(ModelManager& manager, const HttpRequest& r, SlotText text);

}  // namespace quern::serve
