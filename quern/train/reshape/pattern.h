// Name patterns with placeholders: "model.layers.{i}.mlp.{part}". A placeholder matches one or more characters without
// a dot; {*} matches anything, dots too, and may be empty. The same placeholder must match the same text wherever it
// occurs.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quern::train {

class NamePattern {
 public:
  using Captures = std::map<std::string, std::string>;
  // `where` names the source in messages.
  NamePattern(const std::string& text, const std::string& where);
  std::optional<Captures> match(std::string_view name) const;
  std::string fill(const Captures& c) const;  // throws Error when a hole has no text
  bool has(const std::string& hole) const;
  const std::string& text() const { return text_; }

 private:
  struct Token {
    bool hole;
    std::string text;
  };
  bool match(size_t token, std::string_view rest, Captures& c) const;
  std::string text_, where_;
  std::vector<Token> tokens_;
};

}  // namespace quern::train
