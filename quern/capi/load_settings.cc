#include "quern/capi/load_settings.h"

namespace quern::capi {

models::LoadOptions LoadSettings::load_options() const {
  models::LoadOptions o = weights.load_options({});
  if (weights.head && !o.scheme)
    fail("head '{}': format '{}' is not quantized; expected format q8, q4 or q8a8", *weights.head, weights.format);
  if (adapter) o.adapter = *adapter;
  return o;
}

}  // namespace quern::capi
