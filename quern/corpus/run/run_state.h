// The saved state of a resumable run: structs with a visit(), written by write_value (config.h). Counts keep all 64 bits
// and every field must be present; further keys belong to others.
#pragma once
#include "quern/base/config.h"

namespace quern::corpus {

template <class T>
void read_state(const Json& j, T& v) {
  read_field(j, v, "state", FieldPresence::required);
}

}  // namespace quern::corpus
