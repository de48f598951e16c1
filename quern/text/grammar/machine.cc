// Stacks, states and masks.
#include "quern/text/grammar/machine.h"

#include <algorithm>

#include "quern/base/error.h"
#include "quern/base/rng.h"

namespace quern::text {
namespace {

using Kind = GrammarItem::Kind;
constexpr int32_t kUnknown = -2;
constexpr size_t kMaxOpen = 4096;  // stacks of one state, and visits to find them ×16
constexpr size_t kMaxStates = 1 << 15, kMaxStacks = 1 << 21;
constexpr size_t kMaskBytes = 64 << 20;

}  // namespace

size_t GrammarMachine::StackHash::operator()(const Stack& s) const {
  return static_cast<size_t>(mix64(static_cast<uint64_t>(static_cast<uint32_t>(s.at)) << 32 |
                                   static_cast<uint64_t>(static_cast<uint32_t>(s.below))));
}

GrammarMachine::GrammarMachine(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> tokens)
    : grammar_(std::move(grammar)), tokens_(std::move(tokens)) {}

int32_t GrammarMachine::stack(int32_t at, int32_t below) {
  const auto [it, fresh] = stack_ids_.emplace(Stack{at, below}, static_cast<int32_t>(stacks_.size()));
  if (fresh) stacks_.push_back({at, below});
  return it->second;
}

void GrammarMachine::open(int32_t at, int32_t below) {
  const Grammar& g = *grammar_;
  waiting_.push_back({at, below});
  while (!waiting_.empty()) {
    const Stack s = waiting_.back();
    waiting_.pop_back();
    if (!seen_.emplace(s, true).second) continue;
    if (seen_.size() > 16 * kMaxOpen || fresh_.size() > kMaxOpen) {
      waiting_.clear(), seen_.clear(), fresh_.clear();
      fail("the grammar is too ambiguous: more than {} parse states are open at once", kMaxOpen);
    }
    const GrammarItem item = g.items[static_cast<size_t>(s.at)];
    if (item.kind == Kind::bytes) {
      fresh_.push_back(stack(s.at, s.below));
    } else if (item.kind == Kind::end) {
      if (s.below < 0)
        fresh_may_end_ = true;
      else
        waiting_.push_back(stacks_[static_cast<size_t>(s.below)]);
    } else {
      const bool last = g.items[static_cast<size_t>(s.at) + 1].kind == Kind::end;
      const int32_t below_it = last ? s.below : stack(s.at + 1, s.below);
      for (int32_t a = g.first[static_cast<size_t>(item.index)]; a < g.first[static_cast<size_t>(item.index) + 1];
           ++a)
        waiting_.push_back({g.starts[static_cast<size_t>(a)], below_it});
    }
  }
}

GrammarMachine::State GrammarMachine::settle() {
  std::sort(fresh_.begin(), fresh_.end());
  uint64_t hash = fresh_may_end_;
  for (int32_t s : fresh_) hash = mix64(hash * 0x9e3779b97f4a7c15ull + static_cast<uint64_t>(s) + 1);
  State found = kUnknown;
  if (fresh_.empty() && !fresh_may_end_) found = kDead;
  const auto [begin, end] = state_ids_.equal_range(hash);
  for (auto it = begin; it != end && found == kUnknown; ++it) {
    const StateInfo& s = states_[static_cast<size_t>(it->second)];
    if (s.stacks == fresh_ && s.may_end == fresh_may_end_) found = it->second;
  }
  if (found == kUnknown) {
    found = static_cast<State>(states_.size());
    states_.push_back({.stacks = fresh_, .may_end = fresh_may_end_, .next = {}});
    state_ids_.emplace(hash, found);
  }
  fresh_.clear(), seen_.clear(), fresh_may_end_ = false;
  return found;
}

GrammarMachine::State GrammarMachine::start() { return start_rule(grammar_->root); }
GrammarMachine::State GrammarMachine::start_after_blanks() { return start_rule(grammar_->spaced_root); }

GrammarMachine::State GrammarMachine::start_rule(int32_t rule) {
  const auto r = static_cast<size_t>(rule);
  for (int32_t a = grammar_->first[r]; a < grammar_->first[r + 1]; ++a)
    open(grammar_->starts[static_cast<size_t>(a)], -1);
  return settle();
}

GrammarMachine::State GrammarMachine::step(State s, unsigned char byte) {
  {
    StateInfo& info = states_[static_cast<size_t>(s)];
    if (info.next.empty()) info.next.assign(256, kUnknown);
    if (info.next[byte] != kUnknown) return info.next[byte];
    for (int32_t id : info.stacks) {
      const Stack top = stacks_[static_cast<size_t>(id)];
      if (grammar_->sets[static_cast<size_t>(grammar_->items[static_cast<size_t>(top.at)].index)][byte])
        open(top.at + 1, top.below);
    }
  }
  const State to = settle();  // may move states_
  return states_[static_cast<size_t>(s)].next[byte] = to;
}

GrammarMachine::State GrammarMachine::read(State s, std::string_view bytes) {
  for (size_t i = 0; i < bytes.size() && s != kDead; ++i) s = step(s, static_cast<unsigned char>(bytes[i]));
  return s;
}

std::span<const uint64_t> GrammarMachine::mask(State s) {
  if (const auto it = masks_.find(s); it != masks_.end()) return it->second;
  const TokenTrie& t = *tokens_;
  if ((masks_.size() + 1) * t.mask_words() * sizeof(uint64_t) > kMaskBytes) masks_.clear();
  std::vector<uint64_t> bits(t.mask_words(), 0);
  walk_.assign(t.depth() + 1, kDead);
  walk_[0] = s;
  const std::span<const TokenTrie::Node> nodes = t.nodes();
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& n = nodes[i];
    const State from = walk_[n.depth];
    const std::vector<State>& known = states_[static_cast<size_t>(from)].next;
    State to = known.empty() ? kUnknown : known[n.byte];
    if (to == kUnknown) to = step(from, n.byte);
    if (to == kDead) {
      i = n.skip;
      continue;
    }
    walk_[n.depth + 1u] = to;
    for (int32_t id = n.token; id >= 0; id = t.same(id))
      bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << (static_cast<size_t>(id) % 64);
    ++i;
  }
  return masks_.emplace(s, std::move(bits)).first->second;
}

bool GrammarMachine::full() const { return states_.size() > kMaxStates || stacks_.size() > kMaxStacks; }

GrammarMachine::State GrammarMachine::adopt(const GrammarMachine& from, State s) {
  const StateInfo& info = from.states_[static_cast<size_t>(s)];
  std::vector<int32_t> chain;
  for (int32_t id : info.stacks) {
    chain.clear();
    for (int32_t k = id; k >= 0; k = from.stacks_[static_cast<size_t>(k)].below) chain.push_back(k);
    int32_t below = -1;
    for (size_t i = chain.size(); i-- > 0;) below = stack(from.stacks_[static_cast<size_t>(chain[i])].at, below);
    fresh_.push_back(below);
  }
  fresh_may_end_ = info.may_end;
  return settle();
}

}  // namespace quern::text
