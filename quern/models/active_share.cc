#include "quern/models/active_share.h"

namespace quern::models {

ActiveShare::ActiveShare(const Model& model) {
  const Json config = model.config();
  if (const Json* k = config.find("num_experts_per_tok"); k && !k->is_null())
    per_token_ = static_cast<double>(k->as_int("config.json, num_experts_per_tok"));
}

}  // namespace quern::models
