// Scratch memory for kernels. Kernels never allocate: the caller passes an Arena; a Scope releases what was taken
// inside it. Blocks are 64-byte aligned, come from huge-page-advised mappings and are kept for reuse (first touch
// costs up to seconds per GB). Not thread-safe: take per-thread slices before the parallel region.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace quern {

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  template <class T>
  std::span<T> take(int64_t n) {  // uninitialized
    return {static_cast<T*>(take_bytes(static_cast<size_t>(n) * sizeof(T))), static_cast<size_t>(n)};
  }
  void* take_bytes(size_t bytes);
  size_t reserved_bytes() const;

  class Scope {
   public:
    explicit Scope(Arena& a) : arena_(a), block_(a.block_), used_(a.used_) {}
    ~Scope() { arena_.block_ = block_, arena_.used_ = used_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    size_t block_, used_;
  };

 private:
  struct Block {
    std::byte* data;
    size_t size;
  };
  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;
};

Arena& thread_arena();  // this thread's own scratch, for callers that have none at hand

// Large buffers with the same caching: freed blocks of one size class are handed out again instead of unmapped,
// unless they are given back meanwhile (free_blocks.h).
void* cached_alloc(size_t bytes);
void cached_free(void* p, size_t bytes);
size_t cached_bytes();  // held by the cache, free

}  // namespace quern
