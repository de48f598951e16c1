// Sets rollback points before a step, and chooses the one that a rejected draft returns to.
#include "quern/infer/speculation/speculation.h"

#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/mixers/state_totals.h"

namespace quern {

int64_t speculation_marks(const std::vector<StateSite>& sites, int64_t most) {
  constexpr int64_t kLight = 32;  // tokens whose rows weigh as much as the fixed parts
  const StateTotals t = state_totals(sites);
  if (!t.fixed) return 0;
  return t.cuts_inside && t.fixed_bytes <= kLight * t.row_bytes ? most : 1;
}

Speculation::Speculation(const std::vector<StateSite>& sites, const SpeculationOptions& options,
                         const DraftBet& model_bet)
    : o_(options), model_bet_(model_bet), sites_(sites), most_marks_(speculation_marks(sites, options.most)) {
  if (options.ngram) words_.emplace(options.most);
  const StateTotals t = state_totals(sites);
  fixed_ = t.fixed, inside_ = t.cuts_inside;
}

void Speculation::guess(std::span<const int32_t> tokens, int64_t rows, int64_t room, double price) {
  if (std::exchange(said_it_ends_, false)) judge_model(1, 0);  // it went on
  by_model_ = false;
  draft_.clear();
  if (words_) draft_ = words_->next(tokens, room_behind(rows, room), price);
}

int64_t Speculation::asks(int64_t rows, int64_t room, double price) {
  return model_bet_.length(std::min(o_.most, room_behind(rows, room)), price);
}

void Speculation::propose(const DraftAsk& a) {
  draft_ = a.draft;
  by_model_ = true;
  if (!a.read || !draft_.empty()) return;
  if (a.ends)
    said_it_ends_ = true;
  else
    judge_model(1, 0);  // too unsure to say anything: it was asked in vain
}

void Speculation::judge_model(int64_t drafted, int64_t right) {
  model_bet_.judged(drafted, right);
  model_judged_ = true;
}

void Speculation::add_marks(const SequenceState& state, int64_t segment, int64_t rows, std::vector<InnerCut>& cuts) {
  const auto place = [&](SequenceState& mark, int64_t length) { mark.advance(length - mark.length()); };
  taken_ = 0;
  if (!fixed_ || draft_.empty()) return;
  const auto wanted = static_cast<size_t>(std::min(most_marks_, static_cast<int64_t>(draft_.size())));
  while (marks_.size() < wanted) marks_.emplace_back(sites_);
  if (!inside_) {
    taken_ = 1;
    return state.mark(marks_[0]);
  }
  for (; taken_ < wanted; ++taken_) {
    const int64_t at = rows + static_cast<int64_t>(taken_);
    place(marks_[taken_], state.length() + at);
    cuts.push_back({segment, at, &marks_[taken_]});
  }
}

void Speculation::settle(SequenceState& state, int64_t right) {
  const auto drafted = static_cast<int64_t>(draft_.size());
  QUERN_CHECK(drafted > 0 && right >= 0 && right <= drafted, "{} of {}", right, drafted);
  if (by_model_)
    judge_model(drafted, right);
  else
    words_->judged(drafted, right);
  draft_.clear();
  if (right == drafted) return;
  if (!fixed_) return state.truncate(state.length() - (drafted - right));
  state.rewind(marks_[std::min(static_cast<size_t>(right), taken_ - 1)]);
}

}  // namespace quern
