// Hash functions of deduplication. fold64 multiplies to 128 bits and folds: one token, one window of tokens, one band.
// content_hash (XXH3, 128 bits) identifies exact duplicates. Cost: a token of up to 8 bytes takes one multiplication.
#pragma once
#include <compare>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>

namespace quern::corpus {

inline uint64_t fold64(uint64_t a, uint64_t b) {
  const unsigned __int128 m = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64);
}

constexpr uint64_t kFoldA = 0x9e3779b97f4a7c15ull, kFoldB = 0xd6e8feb86659fd93ull, kFoldC = 0xa0761d6478bd642full;

// Reads up to 8 bytes past the end: callers keep padding there.
inline uint64_t token_hash(const char* p, size_t n) {
  uint64_t h = kFoldA ^ n, w = 0;
  for (; n > 8; n -= 8, p += 8) {
    std::memcpy(&w, p, 8);
    h = fold64(h ^ w, kFoldB);
  }
  std::memcpy(&w, p, 8);
  w &= ~uint64_t{0} >> (n == 0 ? 63 : 64 - 8 * n);
  if (n == 0) w = 0;
  return fold64(h ^ w, kFoldC ^ (h << 1));
}

struct ContentHash {
  uint64_t low = 0, high = 0;
  auto operator<=>(const ContentHash&) const = default;
};
ContentHash content_hash(std::string_view bytes);
uint64_t file_hash(const std::filesystem::path& file);  // XXH3, 64 bits, as xxhsum -H3 prints

class RunningHash {  // the same, of bytes that come piece by piece
 public:
  RunningHash();
  ~RunningHash();
  RunningHash(const RunningHash&) = delete;
  RunningHash& operator=(const RunningHash&) = delete;
  void add(const void* bytes, size_t n);
  uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quern::corpus
