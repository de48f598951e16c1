// Start and end of a sequence at the prefix cache.
#include "quern/infer/engine/prefix_reuse.h"

#include <algorithm>
#include <new>
#include <utility>

namespace quern::infer {

PrefixReuse::PrefixReuse(const std::vector<mixers::StateSite>& sites, const PrefixReuseOptions& options,
                         std::unique_ptr<PrefixDisk> disk)
    : o_(options), cache_(sites, options.cache_bytes, std::move(disk)) {
  const mixers::StateTotals totals = mixers::state_totals(sites);
  rules_ = {.chunk = o_.chunk,
            .inside_steps = totals.snapshots_inside && !o_.deterministic,
            .chunk_ends_only = o_.deterministic,
            .any_position = !cache_.needs_snapshots()};
  if (cache_.needs_snapshots() && o_.cache_bytes > 0)
    rules_.grid = snapshot_grid({.totals = totals,
                                 .max_positions = o_.max_positions,
                                 .cache_bytes = o_.cache_bytes,
                                 .chunk = o_.chunk,
                                 .inside_steps = rules_.inside_steps});
}

void PrefixReuse::start(Sequence& s) {
  s.state = mixers::SequenceState(sites());
  s.state.reserve(s.max_rows);
  const auto known = static_cast<int64_t>(s.tokens.size());
  PrefixMatch match;
  match.note = s.r.options.score_prompt ? "a prompt's scores need all of it" : "the prefix cache is off";
  s.out.prompt_logprobs.clear(), s.out.prompt_top.clear();
  if (o_.cache_bytes > 0 && !s.r.options.score_prompt)
    match = cache_.resume(s.text_until(known), known - 1, s.state, o_.deterministic ? o_.chunk : 1);
  s.out.cached_tokens = std::min(match.cached, s.prompt);
  s.out.recomputed_tokens = s.prompt - s.out.cached_tokens;
  s.out.cache_note = match.note;
  s.snapshot_points.clear();
  if (o_.cache_bytes > 0) s.snapshot_points = plan_snapshots(rules_, s.prompt, match, s.r.turn_ends);
}

// Rows of an output come from one-token steps: close to a prompt's rows, not bit-identical.
void PrefixReuse::store_end(const Sequence& s) {
  if (s.fed() == 0 || o_.cache_bytes <= 0 || o_.deterministic) return;
  try {
    cache_.store(s.text_until(s.fed()), s.state, SnapshotKind::turn_end);
  } catch (const std::bad_alloc&) {
    cache_.clear();  // the output is whole; only what was remembered goes
  }
}

}  // namespace quern::infer
