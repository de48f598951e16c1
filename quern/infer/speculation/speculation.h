// State of a sequence that uses speculative decoding: the draft tokens that the next step verifies, and rollback
// points for rejected ones. Rows of the KV cache are simply dropped; recurrent state is saved
//   after every draft token, where it is small (CCA's tails: keys and values of ten tokens);
//   once, before the draft, where it is large (recurrent states): accepted tokens are then fed again with the next
//   step, which costs less than copying megabytes;
//   before the whole step, if a mixer cannot save it inside one.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "quern/infer/speculation/draft_length_policy.h"
#include "quern/infer/speculation/draft_model.h"
#include "quern/infer/speculation/ngram_draft.h"
#include "quern/infer/speculation/speculation_options.h"
#include "quern/mixers/mixer.h"

namespace quern::infer {

// Rollback points a sequence needs for drafts of `max_draft` tokens.
int64_t rollback_point_count(const std::vector<mixers::StateSite>& sites, int64_t max_draft);

class Speculation {
 public:
  Speculation(const std::vector<mixers::StateSite>& sites, const SpeculationOptions& options,
              const DraftLengthPolicy& model_policy = {});

  // Before a step that feeds the last `rows` of `tokens`: drafts what follows by prompt lookup (ngram_draft.h). Where
  // a rejected draft rolls back to before the step, only after a single row, so that the way back does not grow.
  void make_draft(std::span<const int32_t> tokens, int64_t rows, int64_t room, double token_cost);
  // Whether that found nothing and a draft model may be used; its draft length; its result.
  bool may_use_model() const { return o_.draft && !has_draft() && !reader_.failed(); }
  int64_t draft_length(int64_t rows, int64_t room, double token_cost);
  DraftReader& reader() { return reader_; }
  void propose(const DraftRequest& answered);
  std::span<const int32_t> draft() const { return draft_; }
  bool has_draft() const { return !draft_.empty(); }
  // Rollback points that the step saves of `state`, segment `segment` of the batch, fed `rows` tokens and the draft.
  void add_rollback_points(const mixers::SequenceState& state, int64_t segment, int64_t rows,
                           std::vector<mixers::SnapshotPoint>& snapshot_points);
  // After the step: `right` tokens of the draft were accepted. Rolls the state back to the last rollback point before
  // the first rejected token.
  void settle(mixers::SequenceState& state, int64_t right);
  void drop() { draft_.clear(), reader_.let_go(); }  // the step failed, e.g. out of memory
  // Acceptance statistics of the draft model; the next request starts with them.
  const DraftLengthPolicy& model_policy() const { return model_policy_; }
  bool model_was_used() const { return model_was_used_; }

 private:
  void record_model_acceptance(int64_t drafted, int64_t right);
  int64_t room_after(int64_t rows, int64_t room) const { return inside_ || rows == 1 ? room : 0; }

  SpeculationOptions o_;
  std::optional<NgramDraft> words_;
  DraftReader reader_;
  DraftLengthPolicy model_policy_;
  std::vector<int32_t> draft_;
  bool by_model_ = false;        // the draft is the draft model's
  bool predicts_end_ = false;    // the draft model predicted the end of the output
  bool model_was_used_ = false;  // in this request
  std::vector<mixers::StateSite> sites_;
  int64_t max_rollback_points_;
  std::vector<mixers::SequenceState> rollback_points_;  // as many as were needed at once so far
  size_t taken_ = 0;                                    // used by the last step
  bool fixed_ = false, inside_ = true;
};

}  // namespace quern::infer
