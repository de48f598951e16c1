// The adapters that a request chooses itself, as llama-server's clients do it: "lora": [{"id": NAME, "scale": 0.5}, …]. An id
// is the name under which the adapter is served, or its number in the list of all (GET /lora-adapters). The list is the
// whole choice, also of a request to an adapter's own name: [] is the base model.
#pragma once
#include <memory>

#include "quern/base/json.h"
#include "quern/serve/models/model_manager.h"

namespace quern::serve {

// m itself where the body has no such field; throws ApiError naming the field.
std::shared_ptr<ServedModel> choose_adapters(ModelManager& manager, std::shared_ptr<ServedModel> m, const Json& body);

}  // namespace quern::serve
