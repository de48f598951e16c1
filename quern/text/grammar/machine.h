// Stack machine that parses a grammar byte by byte. A stack is a position in the grammar and the stack to return to;
// equal stacks are one node. A state is the set of stacks that are open, each about to read a byte; equal states are
// one number, and a state's successors and its token mask are cached. Cost: a cached step is one load; a new mask
// visits the part of the token trie the state can read.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "quern/text/grammar/grammar.h"
#include "quern/text/grammar/vocab.h"

namespace quern::text {

class GrammarMachine {
 public:
  using State = int32_t;
  static constexpr State kDead = -1;
  GrammarMachine(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> tokens);
  State start();
  State start_after_blanks();  // blanks may come first
  State step(State s, unsigned char byte);
  State read(State s, std::string_view bytes);
  bool may_end(State s) const { return states_[static_cast<size_t>(s)].may_end; }
  bool must_end(State s) const { return states_[static_cast<size_t>(s)].stacks.empty(); }
  // Bit t: token t may come next. Valid until the next call.
  std::span<const uint64_t> mask(State s);
  // Too much is remembered: go on in a new machine, which adopts the state.
  bool full() const;
  State adopt(const GrammarMachine& from, State s);
  const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }
  const std::shared_ptr<const TokenTrie>& tokens() const { return tokens_; }

 private:
  struct Stack {
    int32_t at, below;  // below −1: nothing
    bool operator==(const Stack&) const = default;
  };
  struct StackHash {
    size_t operator()(const Stack& s) const;
  };
  struct StateInfo {
    std::vector<int32_t> stacks;
    bool may_end;
    std::vector<State> next;  // by byte, once asked for; kUnknown where not yet
  };
  int32_t stack(int32_t at, int32_t below);
  void open(int32_t at, int32_t below);  // into fresh_, with everything that follows without a byte
  State start_rule(int32_t rule);
  State settle();  // fresh_ as a state
  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> tokens_;
  std::vector<Stack> stacks_;
  std::unordered_map<Stack, int32_t, StackHash> stack_ids_;
  std::vector<StateInfo> states_;
  std::unordered_multimap<uint64_t, State> state_ids_;
  std::unordered_map<State, std::vector<uint64_t>> masks_;
  std::vector<State> walk_;
  std::vector<Stack> waiting_;
  std::unordered_map<Stack, bool, StackHash> seen_;
  std::vector<int32_t> fresh_;
  bool fresh_may_end_ = false;
};

}  // namespace quern::text
