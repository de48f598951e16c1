#include "quern/mixers/ranks/prompt_shards.h"

#include <algorithm>

namespace quern::mixers {

RowPlacement::RowPlacement(const PromptShards& prompt) : rows_(&prompt.rows()), prompt_(&prompt) {}

bool PromptShards::serve(const std::vector<StateSite>& sites) {
  return std::ranges::all_of(sites, [](const StateSite& site) {
    return std::ranges::all_of(site.spec.parts, [](const StatePart& part) { return part.over_ranks; });
  });
}

PromptShards::PromptShards(const CacheShards& caches, SequenceState& state, int64_t tokens)
    : caches_(caches), state_(state), rows_(caches.comm(), {tokens}) {
  QUERN_CHECK(state.length() == 0 && tokens >= min_tokens(caches));
}

Batch PromptShards::batch() const {
  Batch b = rows_.batch();
  b.placement = *this;
  return b;
}

SequenceState PromptShards::gather_keys(int site, const Tensor& k, const Tensor& v) const {
  const StateSite& here = state_.sites()[static_cast<size_t>(site)];
  SequenceState mine({here}), all({here});
  append_rows(mine, 0, k, v);
  const int64_t n = rows_.tokens();
  for (const StatePart& part : here.spec.parts) {
    if (!part.per_token) continue;
    all.append(0, part.name, n).copy_from(rows_.gather_in_order(mine.rows(0, part.name)));
    const Tensor whole = all.rows(0, part.name);
    if (part.window > 0) {
      state_.append(site, part.name, n).copy_from(whole);
      continue;
    }
    const Tensor kept = state_.append(site, part.name, caches_.count_here(n));
    for (const RowRun& run : caches_.here(0, n))
      kept.narrow(0, run.local, run.n).copy_from(whole.narrow(0, run.row, run.n));
  }
  return all;
}

// The last chunk is rank 0's.
void PromptShards::keep_tail(int site, std::string_view part, const Tensor& x) const {
  Tensor to = state_.fixed(site, part);
  if (to.rank() < x.rank()) to = to.reshape({1, -1});
  const int64_t n = to.dim(0);
  QUERN_CHECK(n <= kMinRowsOfChunk, "{} rows of a tail", n);
  Shape shape = x.shape();
  shape[0] = n;
  const Tensor rows = Tensor::empty(shape, x.dtype());
  if (caches_.comm().rank() == 0) rows.copy_from(x.narrow(0, x.dim(0) - n, n));
  caches_.comm().broadcast(rows);
  to.copy_from(rows);
}

}  // namespace quern::mixers
