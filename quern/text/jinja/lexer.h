// Template source to tokens: text between tags with its white space already trimmed, and the words inside tags.
#pragma once
#include <string>
#include <vector>

namespace quern::text::jinja {

struct Token {
  enum class Kind {
    text,
    open_output,
    close_output,
    open_block,
    close_block,
    name,
    string,
    integer,
    real,
    symbol,
    end
  };
  Kind kind = Kind::end;
  std::string text;
  int line = 0;
};

std::vector<Token> tokenize(const std::string& source);

}  // namespace quern::text::jinja
