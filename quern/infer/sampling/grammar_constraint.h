// Grammar constraints. With thinking, everything is allowed up to </think> except the end of the output; then up to
// four blanks may precede the text of the grammar. A model that may open its own thinking can choose between <think>
// and the grammar, as its first token or, where it spells the tag in several, until the two part; a grammar that itself
// begins with <think> decides.
#pragma once
#include <memory>
#include <string>

#include "quern/infer/sampling/constraint.h"
#include "quern/text/grammar/machine.h"

namespace quern::infer {

// opened: by the prompt; may_open: by the token <think>; may_spell: by tokens that spell it together.
enum class ThinkStart { none, opened, may_open, may_spell };

class GrammarSource {
 public:
  GrammarSource(std::shared_ptr<const text::Grammar> grammar, std::shared_ptr<const text::TokenTrie> tokens);
  std::shared_ptr<const ConstraintSource> with(ThinkStart start, int32_t think_token) const;
  // Free text, in which whatever begins with `trigger` follows the grammar (triggered_constraint.cc).
  struct Trigger {
    std::string text;
    ThinkStart start = ThinkStart::none;  // a trigger inside the thinking is none
    int32_t think_token = -1;
    bool once = false;  // the output ends where the grammar does; else free text follows
  };
  std::shared_ptr<const ConstraintSource> triggered(Trigger trigger) const;

 private:
  // Shared so that masks found for one answer serve the next; asked only by the engine's thread.
  std::shared_ptr<text::GrammarMachine> machine_;
};

enum class GrammarNotation { gbnf, regex, json_schema };
// Parses; the notation's complaints pass through.
std::shared_ptr<const text::Grammar> parse_grammar(GrammarNotation notation, const std::string& text);

}  // namespace quern::infer
