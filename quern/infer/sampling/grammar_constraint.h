// Grammars as constraints. With thinking, everything goes up to </think> except the end of the answer; then up to
// four blanks may stand before the grammar's own text. A model that may open its thinking itself is given the token
// <think> as a first choice beside the grammar.
#pragma once
#include <memory>
#include <string>

#include "quern/infer/sampling/constraint.h"
#include "quern/text/grammar/machine.h"

namespace quern {

enum class ThinkStart { none, opened, may_open };  // opened: by the prompt

class GrammarSource {
 public:
  GrammarSource(std::shared_ptr<const text::Grammar> grammar, std::shared_ptr<const text::TokenTrie> tokens);
  std::shared_ptr<const ConstraintSource> with(ThinkStart start, int32_t think_token) const;

 private:
  // Shared so that masks found for one answer serve the next; asked only by the engine's thread.
  std::shared_ptr<text::GrammarMachine> machine_;
};

enum class GrammarNotation { gbnf, regex, json_schema };
// Parses; the notation's complaints pass through.
std::shared_ptr<const text::Grammar> parse_grammar(GrammarNotation notation, const std::string& text);

}  // namespace quern
