// Sets rollback points before a step, and chooses the one that a rejected draft returns to.
#include "quern/infer/speculation/speculation.h"

#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/mixers/state_totals.h"

namespace quern::infer {

int64_t rollback_point_count(const std::vector<mixers::StateSite>& sites, int64_t max_draft) {
  constexpr int64_t kLight = 32;  // tokens whose rows weigh as much as the fixed parts
  const mixers::StateTotals t = mixers::state_totals(sites);
  if (!t.fixed) return 0;
  return t.snapshots_inside && t.fixed_bytes <= kLight * t.row_bytes ? max_draft : 1;
}

Speculation::Speculation(const std::vector<mixers::StateSite>& sites, const SpeculationOptions& options,
                         const DraftLengthPolicy& model_policy)
    : o_(options),
      model_policy_(model_policy),
      sites_(sites),
      max_rollback_points_(rollback_point_count(sites, options.max_draft)) {
  if (options.ngram) words_.emplace(options.max_draft);
  const mixers::StateTotals t = mixers::state_totals(sites);
  fixed_ = t.fixed, inside_ = t.snapshots_inside;
}

void Speculation::make_draft(std::span<const int32_t> tokens, int64_t rows, int64_t room, double token_cost) {
  if (std::exchange(predicts_end_, false)) record_model_acceptance(1, 0);  // it went on
  by_model_ = false;
  draft_.clear();
  if (words_) draft_ = words_->next(tokens, room_after(rows, room), token_cost);
}

int64_t Speculation::draft_length(int64_t rows, int64_t room, double token_cost) {
  return model_policy_.length(std::min(o_.max_draft, room_after(rows, room)), token_cost);
}

void Speculation::propose(const DraftRequest& a) {
  draft_ = a.draft;
  by_model_ = true;
  if (!a.read || !draft_.empty()) return;
  if (a.ends)
    predicts_end_ = true;
  else
    record_model_acceptance(1, 0);  // too unsure to say anything: it was asked in vain
}

void Speculation::record_model_acceptance(int64_t drafted, int64_t right) {
  model_policy_.record_acceptance(drafted, right);
  model_was_used_ = true;
}

void Speculation::add_rollback_points(const mixers::SequenceState& state, int64_t segment, int64_t rows,
                                      std::vector<mixers::SnapshotPoint>& snapshot_points) {
  const auto place = [&](mixers::SequenceState& mark, int64_t length) { mark.advance(length - mark.length()); };
  taken_ = 0;
  if (!fixed_ || draft_.empty()) return;
  const auto wanted = static_cast<size_t>(std::min(max_rollback_points_, static_cast<int64_t>(draft_.size())));
  while (rollback_points_.size() < wanted) rollback_points_.emplace_back(sites_);
  if (!inside_) {
    taken_ = 1;
    return state.mark(rollback_points_[0]);
  }
  for (; taken_ < wanted; ++taken_) {
    const int64_t at = rows + static_cast<int64_t>(taken_);
    place(rollback_points_[taken_], state.length() + at);
    snapshot_points.push_back({segment, at, &rollback_points_[taken_]});
  }
}

void Speculation::settle(mixers::SequenceState& state, int64_t right) {
  const auto drafted = static_cast<int64_t>(draft_.size());
  QUERN_CHECK(drafted > 0 && right >= 0 && right <= drafted, "{} of {}", right, drafted);
  if (by_model_)
    record_model_acceptance(drafted, right);
  else
    words_->record_acceptance(drafted, right);
  draft_.clear();
  if (right == drafted) return;
  if (!fixed_) return state.truncate(state.length() - (drafted - right));
  state.rewind(rollback_points_[std::min(static_cast<size_t>(right), taken_ - 1)]);
}

}  // namespace quern::infer
