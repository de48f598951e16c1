// RowPlacement: where the rows of a batch and of its KV caches lie: all in this process, or shared by ranks in one of
// two ways. A mixer that works row by row never asks. One that reads other rows asks for the sharing it can handle
// and rejects the other; attention (ranks/attend.h) handles both. A value that refers to what it was made from.
#pragma once
#include <variant>

namespace quern::mixers {

class ContextParallel;  // ranks/context_parallel.h
class CacheShards;      // ranks/cache_shards.h

class RowPlacement {
 public:
  RowPlacement() = default;  // all rows and caches are in this process
  // Context parallelism, for training: segments are parts of documents whose other rows are on other ranks.
  RowPlacement(const ContextParallel& rows) : over_(&rows) {}
  // Sharded KV cache: every rank has all rows of the batch, and its share of the caches.
  RowPlacement(const CacheShards& caches) : over_(&caches) {}

  const ContextParallel* context_parallel() const { return get<ContextParallel>(); }  // null: segments are whole
  const CacheShards* cache_shards() const { return get<CacheShards>(); }              // null: caches are whole
  // Throws Error naming the mixer unless segments are whole: for mixers without context parallelism.
  void require_whole_segments(const char* mixer) const;

 private:
  template <class Sharing>
  const Sharing* get() const {
    const auto* over = std::get_if<const Sharing*>(&over_);
    return over ? *over : nullptr;
  }
  std::variant<std::monostate, const ContextParallel*, const CacheShards*> over_;
};

}  // namespace quern::mixers
