// The parsed template. One struct for every expression and one for every statement; `kind` says which fields are used.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "quern/text/jinja/value.h"

namespace quern::text::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct Expression {
  enum class Kind {
    literal,
    name,
    list,
    dict,
    attribute,
    subscript,
    slice,
    call,
    filter,
    test,
    unary,
    binary,
    conditional
  };
  Kind kind = Kind::literal;
  Value literal;
  std::string name;                                          // of a name, attribute, filter, test, operator
  std::vector<ExpressionPtr> parts;                          // operands, elements; null where a slice leaves one out
  std::vector<std::pair<std::string, ExpressionPtr>> named;  // keyword arguments; dict entries keep keys in parts
  bool negated = false;                                      // is not
  int line = 0;
};

struct Statement;
using Block = std::vector<std::unique_ptr<Statement>>;

struct Statement {
  enum class Kind { text, output, conditional, loop, set, set_block, macro, group, break_, continue_ };
  Kind kind = Kind::text;
  std::string text;                     // literal text, or a macro's name
  std::vector<std::string> targets;     // loop variables; set targets ("ns.x" is an attribute); macro parameters
  ExpressionPtr expression, filter;     // condition, iterable, value; a loop's `if`
  std::vector<ExpressionPtr> defaults;  // of macro parameters, from the right
  Block body, otherwise;
  int line = 0;
};

// trim_blocks and lstrip_blocks on, as chat templates are written for. Throws Error naming the line.
Block parse(const std::string& source);

}  // namespace quern::text::jinja
