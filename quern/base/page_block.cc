// Falls back to malloc when the system has no more mappings.
#include "quern/base/page_block.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace quern {
namespace {

constexpr size_t kPage = 4096;

// To cut a mapping in two takes one more, and there may be too many; then at least its pages go.
void unmap(void* p, size_t bytes) {
  if (::munmap(p, bytes) != 0) ::madvise(p, bytes, MADV_DONTNEED);
}

}  // namespace

size_t page_block_bytes(size_t wanted) { return (wanted + kPage - 1) / kPage * kPage; }

std::shared_ptr<void> page_block(size_t bytes) {
  bytes = page_block_bytes(bytes);
  void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p != MAP_FAILED) {
    ::madvise(p, bytes, MADV_NOHUGEPAGE);  // where every mapping is given huge pages, one byte would take 2 MiB
    return {p, [bytes](void* block) { unmap(block, bytes); }};
  }
  p = std::aligned_alloc(kPage, bytes);
  if (!p) throw std::bad_alloc();
  return {p, [](void* block) { std::free(block); }};
}

}  // namespace quern
