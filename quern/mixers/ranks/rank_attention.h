// Attention with keys and values sharded over ranks and all queries on every rank, as decoding with one long sharded
// KV cache needs. Every query sees all keys of all ranks; results are the same bits on every rank.
//   reduce     each rank attends its own keys once, and the partial results are combined (reduce_partials.h):
//              4·n·Hq·d·t flops on a rank of t keys; only partial results travel
//   ring-kv    keys and values pass around and every rank attends all of them: 4·n·Hq·d·N flops per rank, (p−1)·N rows
//              travel, two blocks of the longest shard in memory besides its own (in slices, so that one block's room
//              takes both what leaves and what arrives; nothing is computed meanwhile)
//   gather-kv  all keys and values to every rank once: as many bytes, room for all N rows
// The last two are baselines to measure against.
#pragma once
#include "quern/mixers/ranks/attend.h"
#include "quern/mixers/ranks/partials.h"
#include "quern/mixers/ranks/reduce_partials.h"

namespace quern::mixers {

enum class ShardForm { reduce, ring_kv, gather_kv };

struct RankAttentionOptions {
  double scale = 1;
  ShardForm form = ShardForm::reduce;
  ReduceOptions reduce = {};
  int64_t slice_bytes = int64_t{1} << 20;  // ring-kv
};

// Contiguous; f32 or f64.
struct RankAttentionInputs {
  Tensor q;             // [n, Hq, d], the same on all ranks
  Tensor k, v;          // [t, Hkv, d], [t, Hkv, dv]: this rank's keys
  comm::Counts counts;  // the keys of every rank
};
Attended rank_attention(comm::Communicator& comm, const RankAttentionInputs& in, const RankAttentionOptions& options,
                        ExchangeMemory& memory);

struct RankAttendInputs {
  grad::Var q;  // [n, Hq, d]: rows [first, first + n) of the whole
  int64_t first = 0;
  grad::Var k, v;            // [t, Hkv, d], [t, Hkv, dv]: this rank's
  std::vector<RowRun> keys;  // the rows that lie here, in the order of k and v
};
// The same by tiles of products, causal by rows of the whole and with a backward pass. Backward, with
// P = e^(scale·qkᵀ − lse) of the whole's lse: dv = Pᵀ·do, dS = P∘(do·vᵀ − rowsum(do∘o)), dk = scale·dSᵀ·q stay home,
// and dq = scale·dS·k is summed over ranks: one more all-reduce of n·Hq·d numbers.
grad::Var rank_attend(grad::Tape& tape, comm::Communicator& comm, const RankAttendInputs& in,
                      const AttendOptions& options, const ReduceOptions& reduce = {});

}  // namespace quern::mixers
