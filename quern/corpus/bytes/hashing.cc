// The only file that includes xxhash.h.
#include "quern/corpus/bytes/hashing.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "quern/base/error.h"

namespace quern::corpus {

ContentHash content_hash(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

uint64_t file_hash(const std::filesystem::path& file) {
  const auto close = [](std::FILE* f) { std::fclose(f); };
  std::unique_ptr<std::FILE, decltype(close)> in(std::fopen(file.c_str(), "rb"), close);
  if (!in) fail("cannot open {}: {}", file.string(), std::strerror(errno));
  RunningHash hash;
  std::vector<char> buffer(size_t{1} << 20);
  while (const size_t n = std::fread(buffer.data(), 1, buffer.size(), in.get())) hash.add(buffer.data(), n);
  if (std::ferror(in.get())) fail("cannot read {}", file.string());
  return hash.value();
}

struct RunningHash::State {
  XXH3_state_t xxh;
};

RunningHash::RunningHash() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
RunningHash::~RunningHash() = default;
void RunningHash::add(const void* bytes, size_t n) { XXH3_64bits_update(&state_->xxh, bytes, n); }
uint64_t RunningHash::value() const { return XXH3_64bits_digest(&state_->xxh); }

}  // namespace quern::corpus
