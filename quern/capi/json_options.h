// Options of a function of quern.h, a JSON object; NULL for the defaults. An unknown name is an Error.
#pragma once
#include "quern/base/config.h"
#include "quern/base/json.h"

namespace quern::capi {

template <ConfigStruct C>
C read_options(const char* json) {
  C c;
  if (json) from_json(Json::parse(json, "options"), c, "options", UnknownKeys::refuse);
  return c;
}

}  // namespace quern::capi
