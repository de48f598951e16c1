// The block lives as long as one of its tensors does.
#include "quern/infer/one_block.h"

#include <memory>

#include "quern/base/arena.h"
#include "quern/base/free_blocks.h"

namespace quern {
namespace {

constexpr int64_t kAlign = 64;
constexpr int64_t kShared = 64;  // what sharing the block takes beside it

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

std::vector<Tensor> in_one_block(const std::vector<Tensor>& parts) {
  int64_t bytes = 0;
  for (const Tensor& p : parts) bytes += aligned(p.bytes());
  if (bytes == 0) return parts;
  const auto size = static_cast<size_t>(bytes);
  const std::shared_ptr<void> block(cached_alloc(size), [size](void* p) { cached_free(p, size); });
  std::vector<Tensor> copies;
  copies.reserve(parts.size());
  auto* at = static_cast<std::byte*>(block.get());
  for (const Tensor& p : parts) {
    copies.emplace_back(Tensor::external(at, p.shape(), p.dtype(), block)).copy_from(p);
    at += aligned(p.bytes());
  }
  return copies;
}

int64_t one_block_bytes(std::span<const int64_t> parts) {
  int64_t bytes = 0;
  for (const int64_t p : parts) bytes += aligned(p);
  return static_cast<int64_t>(block_bytes(static_cast<size_t>(bytes))) + kShared;
}

}  // namespace quern
