// Any bytes as a document of each kind: passages that ascend inside the text, in bounded time and memory.
#include <cstdint>

#include "quern/base/error.h"
#include "quern/recall/read/passages.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace quern::recall;
  if (size < 1) return 0;
  const std::string_view content(reinterpret_cast<const char*>(data) + 1, size - 1);
  const ReadDocument d = read_document(static_cast<DocumentKind>(data[0] % 6), content);
  PassageList list;
  append_passages(d, {.chunks = {.max_words = 16}, .min_words = 4}, 0, list);
  uint64_t before = 0;
  for (const Chunk& c : list.chunks) {
    QUERN_CHECK(c.begin >= before && c.begin < c.end && c.end <= d.text.size());
    before = c.end;
  }
  return 0;
}
