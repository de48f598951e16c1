// Parsers of the three grammar notations. Each throws Error naming what it could not read and where.
//
//   GBNF: name ::= "text" [a-z] [^"\\] . ( … ) | * + ? {m} {m,} {m,n}  # comment; `root` is the start rule.
//
//   regex: the whole output must match; no look-around, back-references or flags.
//
//   JSON Schema (2020-12): docs/serve/structured-outputs.md lists the keywords; any other assertion is refused by name.
//   Properties come in the schema's order; objects that name properties have no others unless additionalProperties
//   allows them.
#pragma once
#include <string_view>

#include "quern/base/json.h"
#include "quern/text/grammar/grammar.h"

namespace quern::text {

Grammar parse_gbnf(std::string_view text);
Grammar parse_regex_grammar(std::string_view pattern);
Grammar parse_json_schema(const Json& schema);
GrammarItem schema_item(GrammarBuilder& b, const Json& schema);  // as part of a larger grammar

// A regular expression as part of a larger grammar. Inside a JSON string characters are written as JSON escapes them;
// `search`: the match may lie anywhere in the text unless anchored.
struct RegexPlace {
  bool json_string = false, search = false;
};
GrammarItem regex_item(GrammarBuilder& b, std::string_view pattern, RegexPlace place);

// One character of a set as a JSON string spells it: itself, or an escape.
GrammarItem json_char(GrammarBuilder& b, const CharRanges& set);

}  // namespace quern::text
