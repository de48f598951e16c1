#include "quern/models/token_ids.h"

#include "quern/base/error.h"

namespace quern::models {

void check_token_ids(std::span<const int32_t> ids, int64_t vocab, std::string_view what) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || ids[i] >= vocab)
      fail("{}{}token {} at position {}: ids run from 0 to {}", what, what.empty() ? "" : " ", ids[i], i, vocab - 1);
}

}  // namespace quern::models
