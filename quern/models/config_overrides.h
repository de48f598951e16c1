// Changes of single config.json fields: of a training stage (`config = { rope_theta = 1e6 }`), or of a model as it is
// loaded. A change takes effect where the checkpoint keeps the field: rotary settings lie inside rope_parameters in
// current files, beside it in older ones. A change without an effect is an error.
#pragma once
#include "quern/base/json.h"
#include "quern/nn/registry.h"

namespace quern::models {

// `config` with `changes`, objects merged key by key. Throws Error naming a field that the family does not read, or that
// this model has no use for.
Json override_config(const nn::Registry& registry, const Json& config, const Json& changes);

}  // namespace quern::models
