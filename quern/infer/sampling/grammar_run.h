// A place in a grammar: what may come next, and where that leads. Shared by the constraints of this folder; asked only
// by the engine's thread.
#pragma once
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "quern/base/error.h"
#include "quern/text/grammar/machine.h"

namespace quern::infer {

class GrammarRun {
 public:
  explicit GrammarRun(std::shared_ptr<text::GrammarMachine> machine) : machine_(std::move(machine)) {}
  const text::TokenTrie& tokens() const { return *machine_->tokens(); }

  void begin() { state_ = machine_->start(); }
  void begin_after_blanks() { state_ = machine_->start_after_blanks(); }
  std::span<const uint64_t> mask() {
    make_room();
    return machine_->mask(state_);
  }
  bool allows(std::string_view bytes) {
    make_room();
    return !bytes.empty() && machine_->read(state_, bytes) != text::GrammarMachine::kDead;
  }
  // Whether a text could follow begin() or begin_after_blanks().
  bool could_begin(std::string_view bytes) {
    return machine_->read(machine_->start(), bytes) != text::GrammarMachine::kDead;
  }
  bool could_begin_after_blanks(std::string_view bytes) {
    return machine_->read(machine_->start_after_blanks(), bytes) != text::GrammarMachine::kDead;
  }
  void follow(std::string_view bytes) {
    state_ = machine_->read(state_, bytes);
    QUERN_CHECK(state_ != text::GrammarMachine::kDead);
  }
  bool may_end() const { return machine_->may_end(state_); }
  bool must_end() const { return machine_->must_end(state_); }

 private:
  void make_room() {  // too much is remembered: a new machine goes on
    if (!machine_->full()) return;
    auto fresh = std::make_shared<text::GrammarMachine>(machine_->grammar(), machine_->tokens());
    state_ = fresh->adopt(*machine_, state_);
    machine_ = std::move(fresh);
  }
  std::shared_ptr<text::GrammarMachine> machine_;
  text::GrammarMachine::State state_ = text::GrammarMachine::kDead;
};

}  // namespace quern::infer
