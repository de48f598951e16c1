#include "quern/infer/engine/fair_share.h"

#include <algorithm>
#include <limits>

namespace quern::infer {

void FairShare::begin_waiting(const std::string& user) {
  forget_idle();
  Account& mine = accounts_[user];
  if (mine.waiting++ > 0) return;
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t lowest = kNone;
  for (const auto& [name, a] : accounts_)
    if (&a != &mine && a.waiting > 0) lowest = std::min(lowest, a.spent);
  mine.spent = std::max(mine.spent, lowest == kNone ? last_ : lowest);
}

void FairShare::end_waiting(const std::string& user) {
  const auto found = accounts_.find(user);
  if (found == accounts_.end()) return;
  --found->second.waiting;
  last_ = found->second.spent;
}

void FairShare::charge(const std::string& user, int64_t tokens) {
  if (const auto found = accounts_.find(user); found != accounts_.end()) found->second.spent += tokens;
}

int64_t FairShare::spent(const std::string& user) const {
  const auto found = accounts_.find(user);
  return found == accounts_.end() ? 0 : found->second.spent;
}

void FairShare::forget_idle() {
  if (accounts_.size() <= kMaxIdle) return;
  std::erase_if(accounts_, [](const auto& entry) { return entry.second.waiting == 0; });
}

}  // namespace quern::infer
