// A prompt over ranks: each computes its rows of a new sequence (zig-zag chunks, context_parallel.h), and every mixer
// leaves behind what decoding with sharded KV caches (cache_shards.h) goes on from: keys and values on the ranks that
// own their rows, recurrent state on every rank. A layer with caches gathers all keys and values, in the type of the
// cache, for the time of its attention; a recurrent one broadcasts its state.
//
//   const PromptShards prompt(caches, state, n);          // the state of a sequence that has seen nothing
//   model.hidden(tape, ids of prompt.rows().rows(), prompt.batch());
//   state.advance(n);
#pragma once
#include <string_view>

#include "quern/mixers/ranks/cache_shards.h"
#include "quern/mixers/ranks/context_parallel.h"

namespace quern::mixers {

class PromptShards {
 public:
  // Too few tokens leave chunks that are shorter than the rows which a convolution looks back.
  static constexpr int64_t kMinRowsOfChunk = 8;
  static int64_t min_tokens(const CacheShards& caches) { return 2 * caches.comm().size() * kMinRowsOfChunk; }
  // Whether every part of the state can be filled so.
  static bool serve(const std::vector<StateSite>& sites);

  PromptShards(const CacheShards& caches, SequenceState& state, int64_t tokens);
  const ContextParallel& rows() const { return rows_; }
  SequenceState& state() const { return state_; }
  Batch batch() const;  // of this rank's rows; refers to this object

  // Of this rank's rows k [n, Hkv, d], v [n, Hkv, dv]: those of all ranks, as site 0 of a state; this rank's share of
  // them is kept. Parts with a window are kept whole.
  SequenceState gather_keys(int site, const Tensor& k, const Tensor& v) const;
  // The fixed part that is the newest rows of a stream, x [n, …] those of this rank.
  void keep_tail(int site, std::string_view part, const Tensor& x) const;

 private:
  const CacheShards& caches_;
  SequenceState& state_;
  ContextParallel rows_;
};

}  // namespace quern::mixers
