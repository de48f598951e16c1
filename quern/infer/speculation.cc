// Where marks are set before a step, and which of them a wrong guess goes back to after it.
#include "quern/infer/speculation.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "quern/base/error.h"
#include "quern/mixers/state_totals.h"

namespace quern {

int64_t parse_speculation(const std::string& text) {
  constexpr std::string_view kNgram = "ngram";
  if (text == "none") return 0;
  if (text == kNgram) return kUsualDraft;
  int64_t most = 0;
  if (text.starts_with(kNgram) && text[kNgram.size()] == ':') {
    const char *begin = text.data() + kNgram.size() + 1, *end = text.data() + text.size();
    const auto [rest, bad] = std::from_chars(begin, end, most);
    if (bad == std::errc() && rest == end && most >= 1 && most <= NgramDraft::kMost) return most;
  }
  fail("speculation '{}': expected none, ngram, or ngram:K with K tokens a draft, 1 to {}", text, NgramDraft::kMost);
}

int64_t speculation_marks(const std::vector<StateSite>& sites, int64_t most) {
  constexpr int64_t kLight = 32;  // tokens whose rows weigh as much as the fixed parts
  const StateTotals t = state_totals(sites);
  if (!t.fixed) return 0;
  return t.cuts_inside && t.fixed_bytes <= kLight * t.row_bytes ? most : 1;
}

Speculation::Speculation(const std::vector<StateSite>& sites, int64_t most)
    : source_(most), sites_(sites), most_marks_(speculation_marks(sites, most)) {
  const StateTotals t = state_totals(sites);
  fixed_ = t.fixed, inside_ = t.cuts_inside;
}

void Speculation::guess(std::span<const int32_t> tokens, int64_t rows, int64_t room, double price) {
  draft_ = source_.next(tokens, inside_ || rows == 1 ? room : 0, price);
}

void Speculation::add_marks(const SequenceState& state, int64_t segment, int64_t rows, std::vector<InnerCut>& cuts) {
  const auto place = [&](SequenceState& mark, int64_t length) { mark.advance(length - mark.length()); };
  taken_ = 0;
  if (!fixed_ || draft_.empty()) return;
  const auto wanted = static_cast<size_t>(std::min(most_marks_, static_cast<int64_t>(draft_.size())));
  while (marks_.size() < wanted) marks_.emplace_back(sites_);
  if (!inside_) {
    taken_ = 1;
    place(marks_[0], state.length());
    for (size_t i = 0; i < state.sites().size(); ++i)
      for (size_t k = 0; k < state.sites()[i].spec.parts.size(); ++k)
        if (!state.sites()[i].spec.parts[k].per_token) {
          const int site = static_cast<int>(i), part = static_cast<int>(k);
          marks_[0].fixed(site, part).copy_from(state.fixed(site, part));
        }
    return;
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
  source_.judged(drafted, right);
  draft_.clear();
  if (right == drafted) return;
  if (!fixed_) return state.truncate(state.length() - (drafted - right));
  state.rewind(marks_[std::min(static_cast<size_t>(right), taken_ - 1)]);
}

}  // namespace quern
