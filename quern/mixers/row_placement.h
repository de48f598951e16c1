// RowPlacement: where the rows of a batch and of its KV caches lie: all in this process, or shared by ranks in one of
// three ways. A mixer that works row by row never asks. One that reads other rows asks for the sharing it can handle
// and rejects the others; attention (ranks/attend.h) handles all. A value that refers to what it was made from.
#pragma once

namespace quern::mixers {

class ContextParallel;  // ranks/context_parallel.h
class CacheShards;      // ranks/cache_shards.h
class PromptShards;     // ranks/prompt_shards.h

class RowPlacement {
 public:
  RowPlacement() = default;  // all rows and caches are in this process
  // Context parallelism, for training: segments are parts of documents whose other rows are on other ranks.
  RowPlacement(const ContextParallel& rows) : rows_(&rows) {}
  // Sharded KV cache: every rank has all rows of the batch, and its share of the caches.
  RowPlacement(const CacheShards& caches) : caches_(&caches) {}
  // A prompt over ranks: rows as under context parallelism, and the caches that they go into.
  RowPlacement(const PromptShards& prompt);

  const ContextParallel* context_parallel() const { return rows_; }  // null: segments are whole
  const CacheShards* cache_shards() const { return caches_; }        // null: caches are whole, or a prompt's
  const PromptShards* prompt_shards() const { return prompt_; }      // null: no state is to be kept of these rows
  // Throws Error naming the mixer unless segments are whole: for mixers without context parallelism.
  void require_whole_segments(const char* mixer) const;

 private:
  const ContextParallel* rows_ = nullptr;
  const CacheShards* caches_ = nullptr;
  const PromptShards* prompt_ = nullptr;
};

}  // namespace quern::mixers
