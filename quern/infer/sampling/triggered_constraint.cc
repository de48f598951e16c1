// Free text with parts that follow a grammar: a tool call is held to its schema, the words around it are not. Tokens
// that complete the trigger and go on as the grammar does not are the only ones forbidden outside.
#include <algorithm>
#include <utility>
#include <vector>

#include "quern/infer/sampling/grammar_constraint.h"
#include "quern/infer/sampling/grammar_run.h"

namespace quern::infer {
namespace {

constexpr std::string_view kOpenThink = "<think>", kCloseThink = "</think>";

class TriggeredConstraint : public TokenConstraint {
 public:
  TriggeredConstraint(std::shared_ptr<text::GrammarMachine> machine, const GrammarSource::Trigger& trigger,
                      const std::vector<int32_t>& crossing)
      : run_(std::move(machine)), trigger_(trigger), crossing_(crossing) {
    stage_ = trigger.start == ThinkStart::opened ? Stage::thinking
             : trigger.start == ThinkStart::none ? Stage::words
                                                 : Stage::start;
  }

  std::span<const uint64_t> allowed() override {
    if (stage_ == Stage::grammar) return run_.mask();
    const text::TokenTrie& tokens = run_.tokens();
    own_.assign(tokens.mask_words(), ~uint64_t{0});
    if (const auto over = static_cast<size_t>(tokens.size()) % 64; over > 0) own_.back() = (uint64_t{1} << over) - 1;
    for (const int32_t t : crossing_)
      if (!may_cross(t)) own_[static_cast<size_t>(t) / 64] &= ~(uint64_t{1} << (static_cast<size_t>(t) % 64));
    return own_;
  }
  bool allows(int32_t token) override {
    if (token < 0 || token >= run_.tokens().size()) return false;
    if (stage_ == Stage::grammar) return run_.allows(run_.tokens().bytes(token));
    return std::ranges::find(crossing_, token) == crossing_.end() || may_cross(token);
  }
  bool may_end() const override { return stage_ != Stage::grammar || run_.may_end(); }
  bool finished() const override { return stage_ == Stage::done; }

  void accept(int32_t token) override {
    const std::string bytes = spelling(token);
    if (stage_ == Stage::grammar) {
      run_.follow(bytes);
      return settle();
    }
    tail_ += bytes;
    if (stage_ == Stage::start) {
      const size_t first = std::min(tail_.find_first_not_of(" \t\r\n"), tail_.size());
      const std::string_view said = std::string_view(tail_).substr(first);
      if (said.size() < kOpenThink.size() && kOpenThink.starts_with(said)) return;
      stage_ = said.starts_with(kOpenThink) ? Stage::thinking : Stage::words;
    }
    if (stage_ == Stage::thinking) {
      const size_t close = tail_.find(kCloseThink);
      if (close == tail_.npos) return keep(kCloseThink.size() - 1);
      tail_.erase(0, close + kCloseThink.size());
      stage_ = Stage::words;
    }
    const size_t at = tail_.find(trigger_.text);
    if (at == tail_.npos) return keep(trigger_.text.size() - 1);
    run_.begin();
    if (!run_.allows(std::string_view(tail_).substr(at))) return tail_.clear();  // forced from outside
    run_.follow(std::string_view(tail_).substr(at));
    tail_.clear(), stage_ = Stage::grammar;
    settle();
  }

 private:
  enum class Stage { start, thinking, words, grammar, done };
  void keep(size_t bytes) {
    if (tail_.size() > bytes) tail_.erase(0, tail_.size() - bytes);
  }
  void settle() {
    if (run_.must_end()) stage_ = trigger_.once ? Stage::done : Stage::words;
  }
  std::string spelling(int32_t token) const {
    if (token == run_.tokens().close_think()) return std::string(kCloseThink);
    if (token == trigger_.think_token) return std::string(kOpenThink);
    return run_.tokens().bytes(token);
  }
  bool may_cross(int32_t token) {
    if (stage_ == Stage::thinking) return true;
    const std::string text = tail_ + run_.tokens().bytes(token);
    const size_t at = text.find(trigger_.text);
    return at == text.npos || run_.could_begin(std::string_view(text).substr(at));
  }

  GrammarRun run_;
  const GrammarSource::Trigger trigger_;
  const std::vector<int32_t>& crossing_;
  Stage stage_;
  std::string tail_;  // the end of the free text, as far as it may yet become a tag
  std::vector<uint64_t> own_;
};

struct TriggeredSource : ConstraintSource {
  std::shared_ptr<text::GrammarMachine> machine;
  GrammarSource::Trigger trigger;
  std::vector<int32_t> crossing;  // tokens that may complete the trigger and have bytes behind it
  TriggeredSource(std::shared_ptr<text::GrammarMachine> m, GrammarSource::Trigger t)
      : machine(std::move(m)), trigger(std::move(t)) {
    const text::TokenTrie& tokens = *machine->tokens();
    for (int32_t id = 0; id < tokens.size(); ++id) {
      const size_t at = tokens.bytes(id).find(trigger.text.back());
      if (at != std::string::npos && at + 1 < tokens.bytes(id).size()) crossing.push_back(id);
    }
  }
  std::unique_ptr<TokenConstraint> start() const override {
    return std::make_unique<TriggeredConstraint>(machine, trigger, crossing);
  }
};

}  // namespace

std::shared_ptr<const ConstraintSource> GrammarSource::triggered(Trigger trigger) const {
  QUERN_CHECK(!trigger.text.empty());
  return std::make_shared<TriggeredSource>(machine_, std::move(trigger));
}

}  // namespace quern::infer
