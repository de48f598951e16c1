#include "quern/base/arena.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>

#include "quern/base/free_blocks.h"

namespace quern {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kMinBlock = size_t{1} << 20;
constexpr size_t kHuge = size_t{2} << 20;  // one x86 huge page

// Size classes: powers of two split in four, so that at most 25 % is wasted.
size_t size_class(size_t n) {
  if (n <= kAlign) return kAlign;
  size_t top = std::bit_floor(n), step = std::max(kAlign, top / 4);
  return (n + step - 1) / step * step;
}

// Begins on a huge page; what was mapped to get there is given back. Null when the system has no more.
void* map_pages(size_t bytes) {
  void* p = ::mmap(nullptr, bytes + kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  const size_t page = 4096, whole = (bytes + page - 1) / page * page;
  auto at = reinterpret_cast<uintptr_t>(p), start = (at + kHuge - 1) / kHuge * kHuge, end = start + whole;
  if (start > at) ::munmap(p, start - at);
  if (at + bytes + kHuge > end) ::munmap(reinterpret_cast<void*>(end), at + bytes + kHuge - end);
  ::madvise(reinterpret_cast<void*>(start), bytes, MADV_HUGEPAGE);
  return reinterpret_cast<void*>(start);
}

// Free blocks by size class. Large ones (≥ 2 MiB) are mappings of their own and go back to the system beyond a cap,
// or when nobody took them for a while: a trim unmaps as many as lay free all the time since the trim before. Small
// ones are cut from slabs of huge pages and stay: a model's small matrices then lie side by side on huge pages, and
// an intermediate of one token costs a list operation instead of an aligned malloc.
class BlockCache {
 public:
  void* get(size_t bytes) {
    if (bytes < kHuge) return get_small(bytes);
    {
      std::lock_guard lock(mutex_);
      auto it = large_.find(bytes);
      if (it != large_.end() && !it->second.blocks.empty()) {
        Large& l = it->second;
        void* p = l.blocks.back();
        l.blocks.pop_back();
        l.low = std::min(l.low, l.blocks.size());
        held_ -= bytes;
        return p;
      }
    }
    if (void* p = map_pages(bytes)) return p;
    std::lock_guard lock(mutex_);
    return map_after_giving_back(bytes);
  }
  void trim(double seconds) {
    std::vector<std::pair<void*, size_t>> gone;
    {
      std::lock_guard lock(mutex_);
      const auto now = std::chrono::steady_clock::now();
      if (std::chrono::duration<double>(now - trimmed_).count() < seconds) return;
      size_t maximum = 0;
      for (const auto& [size, l] : large_) maximum += l.low;
      try {
        gone.reserve(maximum);
      } catch (const std::bad_alloc&) {
        return;
      }
      for (const auto& [size, l] : large_)
        for (size_t i = 0; i < l.low; ++i) gone.emplace_back(l.blocks[i], size);
      for (auto& [size, l] : large_) {
        l.blocks.erase(l.blocks.begin(), l.blocks.begin() + static_cast<int64_t>(l.low));
        held_ -= size * l.low;
        l.low = l.blocks.size();
      }
      trimmed_ = now;
    }
    for (const auto& [p, size] : gone) ::munmap(p, size);
  }
  void give_back() {
    std::lock_guard lock(mutex_);
    give_back_locked();
  }
  void put(void* p, size_t bytes) {
    constexpr size_t kCap = size_t{4} << 30;
    if (bytes < kHuge) return put_small(p, bytes);
    {
      std::lock_guard lock(mutex_);
      if (held_ + bytes <= kCap) try {
          large_[bytes].blocks.push_back(p);
          held_ += bytes;
          return;
        } catch (const std::bad_alloc&) {  // not even room to remember it
        }
    }
    ::munmap(p, bytes);
  }
  size_t held() {
    std::lock_guard lock(mutex_);
    return held_;
  }
  // Around a fork: else the new process, which has none of the other threads, may find the lock taken by one for ever.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  struct Large {
    std::vector<void*> blocks;
    size_t low = 0;  // the fewest there were since the last trim
  };

  void give_back_locked() {
    for (auto& [size, l] : large_) {
      for (void* p : l.blocks) ::munmap(p, size);
      held_ -= size * l.blocks.size();
      l.blocks.clear(), l.low = 0;
    }
  }
  // Free blocks of other sizes are no use to who finds no memory. Under the lock.
  void* map_after_giving_back(size_t bytes) {
    give_back_locked();
    if (void* p = map_pages(bytes)) return p;
    throw std::bad_alloc();
  }

#if defined(__SANITIZE_ADDRESS__)  // which watches malloc's blocks, not ours
  void* get_small(size_t bytes) {
    void* p = std::aligned_alloc(kAlign, bytes);
    if (!p) throw std::bad_alloc();
    return p;
  }
  void put_small(void* p, size_t) { std::free(p); }
#else
  struct Free {
    Free* next;
  };

  void* get_small(size_t bytes) {
    std::lock_guard lock(mutex_);
    Free*& list = small_[list_of(bytes)];
    if (list) {
      held_ -= bytes;
      return std::exchange(list, list->next);
    }
    if (slab_left_ < bytes) {
      void* slab = map_pages(kSlab);
      slab_ = static_cast<std::byte*>(slab ? slab : map_after_giving_back(kSlab));
      slab_left_ = kSlab;
    }
    slab_left_ -= bytes;
    return std::exchange(slab_, slab_ + bytes);
  }
  void put_small(void* p, size_t bytes) {
    std::lock_guard lock(mutex_);
    Free*& list = small_[list_of(bytes)];
    list = new (p) Free{list};
    held_ += bytes;
  }
  // Four lists for every power of two.
  static size_t list_of(size_t bytes) {
    const size_t top = std::bit_floor(bytes);
    return static_cast<size_t>(std::countr_zero(top)) * 4 + (bytes - top) * 4 / top;
  }

  static constexpr size_t kSlab = size_t{8} << 20;
  std::array<Free*, 4 * 21> small_{};
  std::byte* slab_ = nullptr;
  size_t slab_left_ = 0;
#endif
  std::mutex mutex_;
  std::chrono::steady_clock::time_point trimmed_{};
  std::unordered_map<size_t, Large> large_;
  size_t held_ = 0;
};

BlockCache& cache() {
  static BlockCache* c = [] {
    pthread_atfork([] { cache().lock(); }, [] { cache().unlock(); }, [] { cache().unlock(); });
    return new BlockCache;  // outlives every static that may still free into it
  }();
  return *c;
}

}  // namespace

size_t block_bytes(size_t wanted) { return size_class(wanted); }
void trim_free_blocks(double seconds) { cache().trim(seconds); }
void give_back_free_blocks() { cache().give_back(); }

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
