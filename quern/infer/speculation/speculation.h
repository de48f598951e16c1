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

#include "quern/infer/speculation/draft_bet.h"
#include "quern/infer/speculation/draft_model.h"
#include "quern/infer/speculation/ngram_draft.h"
#include "quern/infer/speculation/speculation_options.h"
#include "quern/mixers/mixer.h"

namespace quern {

// Marks a sequence needs for drafts of `most` tokens.
int64_t speculation_marks(const std::vector<StateSite>& sites, int64_t most);

class Speculation {
 public:
  Speculation(const std::vector<StateSite>& sites, const SpeculationOptions& options, const DraftBet& model_bet = {});

  // Before a step that feeds the last `rows` of `tokens`: guesses what comes behind them (ngram_draft.h). Where a
  // wrong guess goes back to before the step, only behind a single row, so that the way back does not grow.
  void guess(std::span<const int32_t> tokens, int64_t rows, int64_t room, double price);
  // Whether that found nothing, and there is a draft model to ask; how many tokens it should guess; what it did.
  bool may_ask() const { return o_.draft && !guessing() && !reader_.failed(); }
  int64_t asks(int64_t rows, int64_t room, double price);
  DraftReader& reader() { return reader_; }
  void propose(const DraftAsk& answered);
  std::span<const int32_t> draft() const { return draft_; }
  bool guessing() const { return !draft_.empty(); }
  // The marks such a step leaves of `state`, the batch's segment `segment`, which it feeds `rows` rows and the draft.
  void add_marks(const SequenceState& state, int64_t segment, int64_t rows, std::vector<InnerCut>& cuts);
  // After the step: `right` tokens of the draft were. The state goes back to where it knows no other, or before.
  void settle(SequenceState& state, int64_t right);
  void drop() { draft_.clear(), reader_.let_go(); }  // the step failed, perhaps for want of memory
  // What is known of the draft model; the next answer begins with it.
  const DraftBet& model_bet() const { return model_bet_; }
  bool model_judged() const { return model_judged_; }

 private:
  void judge_model(int64_t drafted, int64_t right);
  int64_t room_behind(int64_t rows, int64_t room) const { return inside_ || rows == 1 ? room : 0; }

  SpeculationOptions o_;
  std::optional<NgramDraft> words_;
  DraftReader reader_;
  DraftBet model_bet_;
  std::vector<int32_t> draft_;
  bool by_model_ = false;      // the draft is
  bool said_it_ends_ = false;  // the draft model said that the answer ends
  bool model_judged_ = false;  // by this answer
  std::vector<StateSite> sites_;
  int64_t most_marks_;
  std::vector<SequenceState> marks_;  // as many as were needed at once
  size_t taken_ = 0;                  // of them by the last step
  bool fixed_ = false, inside_ = true;
};

}  // namespace quern
