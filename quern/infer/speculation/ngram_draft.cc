// Matches are looked up, not searched for: each suffix length has one table from a hash to the latest position.
#include "quern/infer/speculation/ngram_draft.h"

#include <algorithm>
#include <utility>

#include "quern/base/error.h"
#include "quern/infer/speculation/speculation_options.h"

namespace quern::infer {
namespace {

uint64_t mixed(uint64_t h, int32_t token) {
  h = (h ^ static_cast<uint32_t>(token)) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

}  // namespace

NgramDraft::NgramDraft(int64_t max_draft) : max_draft_(max_draft) {
  if (max_draft < 1 || max_draft > kMaxDraftTokens)
    fail("speculative decoding: draft length {}: expected 1 to {}", max_draft, kMaxDraftTokens);
}

// Moves on to the end of `tokens`, token by token: the source first, then the tables.
void NgramDraft::read(std::span<const int32_t> tokens) {
  const auto size = static_cast<int64_t>(tokens.size());
  const auto at = [&](int64_t i) { return tokens[static_cast<size_t>(i)]; };
  for (; read_ < size; ++read_) {
    const bool right = source_ >= 0 && at(source_) == at(read_);
    source_ = right ? source_ + 1 : -1;
    if (right) kind_ = policies_.size() - 1;
    uint64_t hash = 0;
    for (int64_t n = 1; n <= kLongest && n <= read_ + 1; ++n) {  // the last n tokens, from the newest on
      hash = mixed(hash, at(read_ + 1 - n));
      if (n < kShortest) continue;
      const auto table = static_cast<size_t>(n - kShortest);
      auto [entry, fresh] = after_[table].try_emplace(hash, read_ + 1);
      if (fresh) continue;
      const int64_t before = std::exchange(entry->second, read_ + 1);
      if (right) continue;
      bool same = true;
      for (int64_t i = 1; i <= n && same; ++i) same = at(before - i) == at(read_ + 1 - i);
      if (same) source_ = before, kind_ = table;  // longer ones come later and win
    }
  }
}

std::vector<int32_t> NgramDraft::next(std::span<const int32_t> tokens, int64_t room, double token_cost) {
  read(tokens);
  if (source_ < 0 || room < 1) return {};
  const int64_t n = policies_[kind_].length(std::min(room, max_draft_), token_cost),
                size = static_cast<int64_t>(tokens.size());
  std::vector<int32_t> draft;
  // Where the source runs into the end of the text it goes on in the draft itself.
  for (int64_t i = source_; i < source_ + n; ++i)
    draft.push_back(i < size ? tokens[static_cast<size_t>(i)] : draft[static_cast<size_t>(i - size)]);
  return draft;
}

void NgramDraft::record_acceptance(int64_t drafted, int64_t accepted) {
  policies_[kind_].record_acceptance(drafted, accepted);
}

}  // namespace quern::infer
