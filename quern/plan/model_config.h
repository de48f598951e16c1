// The config.json of a planned shape, as `[model] config` of a recipe takes it.
#pragma once
#include "quern/base/json.h"
#include "quern/plan/shape.h"

namespace quern::plan {

Json model_config(const ModelShape& s, int64_t context);

}  // namespace quern::plan
