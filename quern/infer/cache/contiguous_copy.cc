// The block lives as long as any of its tensors.
#include "quern/infer/cache/contiguous_copy.h"

#include <cstdlib>
#include <memory>
#include <new>

#include "quern/base/arena.h"
#include "quern/base/free_blocks.h"
#include "quern/base/page_block.h"

namespace quern::infer {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kShared = 64;              // what sharing the block takes beside it
constexpr size_t kPaged = size_t{8} << 10;   // from here on pages of its own, which leave no hole when they go
constexpr size_t kCached = size_t{2} << 20;  // from here on such that are kept to be used again

std::shared_ptr<void> new_block(size_t bytes) {
  if (bytes >= kCached) return {cached_alloc(bytes), [bytes](void* p) { cached_free(p, bytes); }};
  if (bytes >= kPaged) return page_block(bytes);
  void* p = std::aligned_alloc(kAlign, bytes);
  if (!p) throw std::bad_alloc();
  return {p, [](void* block) { std::free(block); }};
}

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

std::vector<Tensor> contiguous_copy(const std::vector<Tensor>& parts) {
  int64_t bytes = 0;
  for (const Tensor& p : parts) bytes += aligned(p.bytes());
  if (bytes == 0) return parts;
  const std::shared_ptr<void> block = new_block(static_cast<size_t>(bytes));
  std::vector<Tensor> copies;
  copies.reserve(parts.size());
  auto* at = static_cast<std::byte*>(block.get());
  for (const Tensor& p : parts) {
    copies.emplace_back(Tensor::external(at, p.shape(), p.dtype(), block)).copy_from(p);
    at += aligned(p.bytes());
  }
  return copies;
}

int64_t contiguous_bytes(std::span<const int64_t> parts, int64_t rows) {
  int64_t bytes = 0;
  for (const int64_t p : parts) bytes += aligned(p * rows);
  const auto size = static_cast<size_t>(bytes);
  const size_t whole = size >= kCached ? block_bytes(size) : size >= kPaged ? page_block_bytes(size) : size + kAlign;
  return static_cast<int64_t>(whole) + kShared;
}

}  // namespace quern::infer
