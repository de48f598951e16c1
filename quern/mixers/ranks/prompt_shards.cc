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

void PromptShards::keep_keys(int site, const Tensor& k, const Tensor& v, int64_t window) const {
  if (window > 0) return append_rows(state_, site, rows_.gather_in_order(k), rows_.gather_in_order(v));
  const auto owner = [this](int64_t row) { return caches_.owner(row); };
  append_rows(state_, site, rows_.to_owners(k, owner), rows_.to_owners(v, owner));
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
