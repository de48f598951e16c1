// A prompt over ranks: each computes its rows of a new sequence (zig-zag chunks, context_parallel.h), and every mixer
// leaves behind what decoding with sharded KV caches (cache_shards.h) goes on from: keys and values on the ranks that
// own their rows, recurrent state on every rank. A layer with caches sends each row of keys and values to one rank, and
// all of them to all ranks for attention; a recurrent one broadcasts its state.
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

  // Of this rank's rows k [n, Hkv, d], v [n, Hkv, dv]; with a window every rank keeps all rows.
  void keep_keys(int site, const Tensor& k, const Tensor& v, int64_t window) const;
  // The fixed part that is the newest rows of a stream, x [n, …] those of this rank.
  void keep_tail(int site, std::string_view part, const Tensor& x) const;

 private:
  const CacheShards& caches_;
  SequenceState& state_;
  ContextParallel rows_;
};

}  // namespace quern::mixers
