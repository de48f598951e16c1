#include "quern/mixers/ranks/cache_shards.h"

#include "quern/mixers/ranks/partials.h"
#include "quern/nn/dispatch.h"

namespace quern::mixers {
namespace {

constexpr int64_t kKeyTile = 1024;  // cached rows that are widened and whose scores are held at a time

// Several new rows: each sees the cache up to itself.
template <class T>
Tensor partials_of_rows(const Tensor& q, int64_t first, const CachedRows& cache, const std::vector<RowRun>& keys,
                        const AttendOptions& o) {
  const BlockHeads h{q.dim(1), cache.k.dim(1), q.dim(2), cache.v.dim(2), o.scale, 0, false};
  const VisibleBlocks blocks(0, nullptr, {{0, first, q.dim(0)}});
  const auto p = BlockPartial<T>::nothing(q.dim(0), h);
  for (const RowRun& run : keys)
    for (int64_t at = 0; at < run.n; at += kKeyTile) {
      const int64_t n = std::min(kKeyTile, run.n - at);
      forward_block<T>(blocks, h, q,
                       {.k = wide_rows(cache.k, cache.k_scale, run.local + at, n, q.dtype()),
                        .v = wide_rows(cache.v, cache.v_scale, run.local + at, n, q.dtype()),
                        .runs = {{0, run.row + at, n}}},
                       p);
    }
  return partials_of(p);
}

}  // namespace

CacheShards::CacheShards(comm::Communicator& comm, ReduceOptions reduce, int64_t block)
    : comm_(comm), reduce_(reduce), block_(block) {
  QUERN_CHECK(block >= 1);
}

int64_t CacheShards::count_here(int64_t length) const {
  const int64_t round = block_ * comm_.size(), rest = length % round - block_ * comm_.rank();
  return length / round * block_ + std::clamp<int64_t>(rest, 0, block_);
}

std::vector<RowRun> CacheShards::here(int64_t begin, int64_t end) const {
  std::vector<RowRun> runs;
  const int64_t round = block_ * comm_.size();
  for (int64_t at = begin / round * round + block_ * comm_.rank(); at < end; at += round) {
    const int64_t from = std::max(at, begin), to = std::min(at + block_, end);
    if (to > from) runs.push_back({count_here(from), from, to - from});
  }
  return runs;
}

grad::Var attend_shards(const grad::Var& q_v, const grad::Var& k_v, const grad::Var& v_v, const Batch& b, int site,
                        const AttendOptions& o) {
  const CacheShards& shards = *b.placement.cache_shards();
  const Tensor& q = q_v.value;
  const int64_t hq = q.dim(1), dv = v_v.dim(2);
  const Tensor records = no_partials(q.dim(0) * hq, dv, q.dtype());
  for (size_t s = 0; s < b.states.size(); ++s) {
    SequenceState& state = *b.states[s];
    const int64_t begin = b.offsets[s], n = b.offsets[s + 1] - begin, length = state.length();
    if (n == 0) continue;
    for (const RowRun& run : shards.here(length, length + n))
      append_rows(state, site, k_v.value.narrow(0, begin + run.row - length, run.n),
                  v_v.value.narrow(0, begin + run.row - length, run.n));
    const CachedRows cache = cached_rows(state, site);
    const Tensor mine = q.narrow(0, begin, n);
    QUERN_CHECK(cache.k.dim(0) == shards.count_here(length + n), "{} rows of {} on rank {}", cache.k.dim(0),
                length + n, shards.comm().rank());
    const Tensor part = n == 1 ? partials_of_all(mine, cache, o.scale) : nn::with_float(q.dtype(), [&]<class T>() {
      return partials_of_rows<T>(mine.contiguous_copy_if_needed(), length, cache, shards.here(0, length + n), o);
    });
    records.narrow(0, begin * hq, n * hq).copy_from(part);
  }
  ExchangeMemory memory;
  reduce_partials(shards.comm(), records, shards.reduce(), memory);
  return finish_partials(records, hq).o;
}

}  // namespace quern::mixers
