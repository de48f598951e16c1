// KV cache sharded over ranks, for one long sequence: every rank feeds all tokens through the whole model but keeps
// only its rows of the KV caches; attention over them is combined from partial results (reduce_partials.h,
// tree-attention decoding). Rows are assigned to ranks in blocks, round robin: row i lies on rank (i / block) mod p,
// so that shards stay even while the sequence grows, and a generated token is appended to exactly one rank, before it
// is attended. Parts with a window stay whole on every rank, since only their newest rows are read. Matrix products
// are f32 (f64) even if the model computes in bf16: probabilities rounded to bf16 would make results depend on the
// number of ranks.
#pragma once
#include "quern/mixers/ranks/attend.h"
#include "quern/mixers/ranks/context_blocks.h"
#include "quern/mixers/ranks/reduce_partials.h"

namespace quern::mixers {

class CacheShards {
 public:
  // The communicator outlives this.
  explicit CacheShards(comm::Communicator& comm, ReduceOptions reduce = {}, int64_t block = 64);
  comm::Communicator& comm() const { return comm_; }
  const ReduceOptions& reduce() const { return reduce_; }
  int owner(int64_t row) const { return static_cast<int>(row / block_ % comm_.size()); }
  // Of rows [begin, end) of a sequence: those that lie here, `local` counted in what lies here of the whole sequence.
  std::vector<RowRun> here(int64_t begin, int64_t end) const;
  int64_t count_here(int64_t length) const;  // of rows [0, length)

 private:
  comm::Communicator& comm_;
  ReduceOptions reduce_;
  int64_t block_;
};

// attend() (attend.h) of a batch whose placement is a CacheShards: appends this rank's rows of the new ones, then attends over all ranks'.
grad::Var attend_shards(const grad::Var& q, const grad::Var& k, const grad::Var& v, const Batch& batch, int site,
                        const AttendOptions& o);

}  // namespace quern::mixers
