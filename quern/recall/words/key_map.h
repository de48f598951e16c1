// KeyMap: numbers word keys densely by first appearance. A key is a 64-bit hash of a word's normal form; two of n
// different words share a key with probability n²/2⁶⁵ (one in 370 000 for ten million words) and then count as one
// word. Open addressing with linear probing, at most half full: a lookup is about one cache line. The slots are plain
// memory and are written to segment files unchanged.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::recall {

inline uint64_t fold_product(uint64_t a, uint64_t b) {
  const unsigned __int128 p = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(p) ^ static_cast<uint64_t>(p >> 64);
}

// Never 0. Reads only the word's own bytes.
inline uint64_t word_key(std::string_view word) {
  constexpr uint64_t kMix = 0x9e3779b97f4a7c15ull, kFold = 0xd1342543de82ef95ull;
  uint64_t h = (word.size() + 1) * kMix;
  const char* p = word.data();
  size_t n = word.size();
  for (; n > 8; p += 8, n -= 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    h = fold_product(h ^ w, kFold);
  }
  uint64_t w = 0;
  if (word.size() >= 8) {
    std::memcpy(&w, p + n - 8, 8);
  } else if (n >= 4) {
    uint32_t head, tail;
    std::memcpy(&head, p, 4), std::memcpy(&tail, p + n - 4, 4);
    w = uint64_t{head} << 32 | tail;
  } else if (n > 0) {
    const auto b = [p](size_t i) { return uint64_t{static_cast<unsigned char>(p[i])}; };
    w = b(0) | b(n / 2) << 8 | b(n - 1) << 16;
  }
  h = mix64(fold_product(h ^ w, kFold));
  return h == 0 ? 1 : h;
}

class KeyMap {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;
  struct Slot {
    uint64_t key;
    uint32_t value;  // kNone: free
    uint32_t unused;
  };

  explicit KeyMap(size_t expected = 0) { rebuild(expected); }

  // By the key's high bits, so that keys in ascending order fill a table from one end to the other.
  static size_t home(std::span<const Slot> slots, uint64_t key) {  // slots.size() is a power of two, at least 2
    return key >> (64 - std::countr_zero(slots.size()));
  }
  static uint32_t find(std::span<const Slot> slots, uint64_t key) {
    const size_t mask = slots.size() - 1;
    for (size_t at = home(slots, key);; at = (at + 1) & mask) {
      const Slot& s = slots[at];
      if (s.value == kNone || s.key == key) return s.value;
    }
  }
  uint32_t find(uint64_t key) const { return find(slots_, key); }
  void prefetch(uint64_t key) const { __builtin_prefetch(&slots_[home(slots_, key)]); }

  // The value of the key; a new key gets `fresh`.
  uint32_t insert(uint64_t key, uint32_t fresh) {
    QUERN_CHECK(fresh != kNone);
    if (2 * (size_ + 1) > slots_.size()) rebuild(2 * size_ + 2);
    Slot& s = slot(key);
    if (s.value == kNone) s = {key, fresh, 0}, ++size_;
    return s.value;
  }
  size_t size() const { return size_; }
  std::span<const Slot> slots() const { return slots_; }

 private:
  Slot& slot(uint64_t key) {
    const size_t mask = slots_.size() - 1;
    size_t at = home(slots_, key);
    while (slots_[at].value != kNone && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }
  void rebuild(size_t expected) {
    size_t capacity = 16;
    while (capacity < 2 * expected) capacity *= 2;
    std::vector<Slot> old(capacity, Slot{0, kNone, 0});
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.value != kNone) slot(s.key) = s;
  }
  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace quern::recall
