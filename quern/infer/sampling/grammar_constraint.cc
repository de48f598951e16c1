// Runs a grammar machine after the thinking has ended.
#include "quern/infer/sampling/grammar_constraint.h"

#include <algorithm>

#include "quern/infer/sampling/grammar_run.h"
#include "quern/text/grammar/parse.h"

namespace quern::infer {
namespace {

using text::GrammarMachine;
using text::TokenTrie;
constexpr std::string_view kOpen = "<think>", kClose = "</think>";

class GrammarConstraint : public TokenConstraint {
 public:
  GrammarConstraint(std::shared_ptr<GrammarMachine> machine, ThinkStart start, int32_t think_token)
      : run_(std::move(machine)), think_token_(think_token) {
    thinking_ = start == ThinkStart::opened;
    may_think_ = start == ThinkStart::may_open && think_token >= 0 && think_token < tokens().size();
    spelling_ = start == ThinkStart::may_spell;
    if (!thinking_) run_.begin();
  }

  std::span<const uint64_t> allowed() override {
    if (thinking_) return free_mask();
    if (spelling_) return tag_mask();
    const std::span<const uint64_t> bits = run_.mask();
    if (!may_think_) return bits;
    own_.assign(bits.begin(), bits.end());
    set(think_token_, true);
    return own_;
  }

  bool allows(int32_t token) override {
    if (thinking_ || token < 0 || token >= tokens().size()) return TokenConstraint::allows(token);
    if (spelling_ && spells(token)) return true;
    return (may_think_ && token == think_token_) || (in_grammar_ && run_.allows(tokens().bytes(token)));
  }

  bool may_end() const override { return !thinking_ && in_grammar_ && run_.may_end(); }
  bool finished() const override { return !thinking_ && in_grammar_ && run_.must_end(); }

  void accept(int32_t token) override {
    if (may_think_ && token == think_token_) {
      thinking_ = true, may_think_ = false;
      own_.clear();
      return;
    }
    may_think_ = false;
    const std::string bytes = spelling(token);
    if (spelling_ && begin_tag(token, bytes)) return;
    if (!thinking_) return run_.follow(bytes);
    think(bytes);
  }

 private:
  const TokenTrie& tokens() const { return run_.tokens(); }
  void set(int32_t token, bool to) {
    const uint64_t bit = uint64_t{1} << (static_cast<size_t>(token) % 64);
    uint64_t& word = own_[static_cast<size_t>(token) / 64];
    word = to ? word | bit : word & ~bit;
  }
  void think(std::string_view bytes) {
    thought_ += bytes;
    const size_t close = thought_.find(kClose);
    if (close != thought_.npos) {
      thinking_ = false;
      run_.begin_after_blanks();
      run_.follow(thought_.substr(close + kClose.size()));
    } else if (thought_.size() >= kClose.size()) {
      thought_.erase(0, thought_.size() - kClose.size() + 1);  // what may still become the tag
    }
  }

  // Whether the token goes on with the tag, or completes it without closing it again.
  bool spells(int32_t token) const {
    const std::string_view rest = kOpen.substr(tag_.size()), bytes = tokens().bytes(token);
    if (bytes.empty()) return false;
    return rest.starts_with(bytes) || (bytes.starts_with(rest) && bytes.find(kClose) == bytes.npos);
  }
  std::span<const uint64_t> tag_mask() {
    own_.assign(tokens().mask_words(), 0);
    if (in_grammar_) std::ranges::copy(run_.mask(), own_.begin());
    for (int32_t t = 0; t < tokens().size(); ++t)
      if (spells(t)) set(t, true);
    return own_;
  }
  // False where the token leaves the tag for the grammar. The grammar reads along as long as it can; where it reads the
  // whole tag, the thinking is its own.
  bool begin_tag(int32_t token, std::string_view bytes) {
    const bool in_tag = spells(token);
    spelling_ = false;
    if (!in_tag) return false;
    in_grammar_ = in_grammar_ && run_.allows(bytes);
    if (in_grammar_) run_.follow(bytes);
    tag_ += bytes;
    if (tag_.size() < kOpen.size()) {
      spelling_ = true;
    } else if (!in_grammar_) {
      thinking_ = in_grammar_ = true;
      own_.clear();
      think(std::string_view(tag_).substr(kOpen.size()));
    }
    return true;
  }
  // The tag may be a special token, which has no bytes of its own in the trie.
  std::string spelling(int32_t token) const {
    return token == close_token() ? std::string(kClose) : tokens().bytes(token);
  }
  int32_t close_token() const { return tokens().close_think(); }

  // Everything but the tokens that would close the thinking and go on with something the grammar does not begin with.
  std::span<const uint64_t> free_mask() {
    if (own_.empty()) {
      own_.assign(tokens().mask_words(), 0);
      for (int32_t t = 0; t < tokens().size(); ++t)
        if (!tokens().bytes(t).empty() || t == close_token()) set(t, true);
    }
    for (int32_t t : tokens().closers()) {
      const std::string text = thought_ + spelling(t);
      const size_t close = text.find(kClose);
      set(t, close == text.npos || run_.could_begin_after_blanks(text.substr(close + kClose.size())));
    }
    return own_;
  }

  GrammarRun run_;
  int32_t think_token_;
  bool thinking_ = false, may_think_ = false;
  bool spelling_ = false;      // what has come may still be the beginning of <think>
  bool in_grammar_ = true;     // and of what the grammar reads
  std::string tag_;            // of <think>, so far
  std::string thought_;        // the end of the thinking so far
  std::vector<uint64_t> own_;  // a mask that is not the machine's
};

struct Start : ConstraintSource {
  std::shared_ptr<GrammarMachine> machine;
  ThinkStart how;
  int32_t think_token;
  Start(std::shared_ptr<GrammarMachine> m, ThinkStart h, int32_t t) : machine(std::move(m)), how(h), think_token(t) {}
  std::unique_ptr<TokenConstraint> start() const override {
    return std::make_unique<GrammarConstraint>(machine, how, think_token);
  }
};

}  // namespace

GrammarSource::GrammarSource(std::shared_ptr<const text::Grammar> grammar,
                             std::shared_ptr<const text::TokenTrie> tokens)
    : machine_(std::make_shared<GrammarMachine>(std::move(grammar), std::move(tokens))) {}

std::shared_ptr<const ConstraintSource> GrammarSource::with(ThinkStart start, int32_t think_token) const {
  return std::make_shared<Start>(machine_, start, think_token);
}

std::shared_ptr<const text::Grammar> parse_grammar(GrammarNotation notation, const std::string& text) {
  if (notation == GrammarNotation::gbnf) return std::make_shared<text::Grammar>(text::parse_gbnf(text));
  if (notation == GrammarNotation::regex) return std::make_shared<text::Grammar>(text::parse_regex_grammar(text));
  return std::make_shared<text::Grammar>(text::parse_json_schema(Json::parse(text, "JSON schema")));
}

}  // namespace quern::infer
