// The one file that knows xxhash.h.
#include "quern/corpus/hashing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace quern::corpus {

ContentHash content_hash(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

}  // namespace quern::corpus
