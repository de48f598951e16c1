#include "quern/base/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>

namespace quern {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kMinBlock = size_t{1} << 20;
constexpr size_t kHuge = size_t{2} << 20;  // one x86 huge page: below it plain malloc is as good

// Size classes: powers of two split in four, so that at most 25 % is wasted.
size_t size_class(size_t n) {
  if (n <= kAlign) return kAlign;
  size_t top = std::bit_floor(n), step = std::max(kAlign, top / 4);
  return (n + step - 1) / step * step;
}

void* map_pages(size_t bytes) {
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::bad_alloc();
  ::madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

void* raw_alloc(size_t bytes) {
  if (bytes >= kHuge) return map_pages(bytes);
  void* p = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  if (!p) throw std::bad_alloc();
  return p;
}

void raw_free(void* p, size_t bytes) {
  if (bytes >= kHuge)
    ::munmap(p, bytes);
  else
    std::free(p);
}

// Free blocks of ≥ 2 MiB by size class, up to a cap; beyond it they go back to the system.
class BlockCache {
 public:
  void* get(size_t bytes) {
    {
      std::lock_guard lock(mutex_);
      auto it = free_.find(bytes);
      if (it != free_.end() && !it->second.empty()) {
        void* p = it->second.back();
        it->second.pop_back();
        held_ -= bytes;
        return p;
      }
    }
    return raw_alloc(bytes);
  }
  void put(void* p, size_t bytes) {
    constexpr size_t kCap = size_t{4} << 30;
    if (bytes >= kHuge) {
      std::lock_guard lock(mutex_);
      if (held_ + bytes <= kCap) {
        free_[bytes].push_back(p);
        held_ += bytes;
        return;
      }
    }
    raw_free(p, bytes);
  }
  size_t held() {
    std::lock_guard lock(mutex_);
    return held_;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<size_t, std::vector<void*>> free_;
  size_t held_ = 0;
};

BlockCache& cache() {
  static BlockCache* c = new BlockCache;  // outlives every static that may still free into it
  return *c;
}

}  // namespace

Arena::~Arena() {
  for (Block& b : blocks_) cached_free(b.data, b.size);
}

void* Arena::take_bytes(size_t bytes) {
  bytes = (std::max<size_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
  while (block_ < blocks_.size() && used_ + bytes > blocks_[block_].size) ++block_, used_ = 0;
  if (block_ == blocks_.size()) {
    size_t size = std::max({bytes, kMinBlock, blocks_.empty() ? 0 : blocks_.back().size * 2});
    size = size_class(size);
    blocks_.push_back({static_cast<std::byte*>(cached_alloc(size)), size});
    used_ = 0;
  }
  void* p = blocks_[block_].data + used_;
  used_ += bytes;
  return p;
}

size_t Arena::reserved_bytes() const {
  size_t n = 0;
  for (const Block& b : blocks_) n += b.size;
  return n;
}

Arena& thread_arena() {
  thread_local Arena arena;
  return arena;
}

void* cached_alloc(size_t bytes) { return cache().get(size_class(bytes)); }
void cached_free(void* p, size_t bytes) { cache().put(p, size_class(bytes)); }
size_t cached_bytes() { return cache().held(); }

}  // namespace quern
