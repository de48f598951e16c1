// Test helper: runs the text of a small program as it stands in a question, independently of tiny_program.cc.
#pragma once
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace quern::gym {

class ProgramText {
 public:
  explicit ProgramText(std::string text) {
    std::string spaced;
    for (char c : text)
      spaced += std::string(";(){}").find(c) == std::string::npos ? std::string(1, c) : std::string(" ") + c + " ";
    std::istringstream in(spaced);
    for (std::string w; in >> w;)
      if (w != ";" && w != "(" && w != ")") words_.push_back(w);
  }

  std::map<std::string, long> run(std::map<std::string, long> values = {}) {
    values_ = std::move(values);
    block(0);
    return values_;
  }

 private:
  static bool is_name(const std::string& w) { return w.size() == 1 && w[0] >= 'x' && w[0] <= 'z'; }
  bool starts_statement(size_t at) const {
    return at >= words_.size() || words_[at] == "}" || words_[at] == "repeat" || words_[at] == "if" ||
           (is_name(words_[at]) && at + 1 < words_.size() && words_[at + 1] == "=");
  }
  long value(const std::string& w) const { return is_name(w) ? values_.at(w) : std::stol(w); }

  // Runs the statements from `at` to the end or the closing brace; the place after it.
  size_t block(size_t at) {
    while (at < words_.size() && words_[at] != "}") {
      if (words_.at(at) == "repeat") {
        for (long k = std::stol(words_.at(at + 1)); k > 0; --k) block(at + 4);
        at = after_block(at + 4);
      } else if (words_.at(at) == "if") {
        if (value(words_.at(at + 1)) > value(words_.at(at + 3))) block(at + 5);
        at = after_block(at + 5);
      } else {
        at = assignment(at);
      }
    }
    return at + 1;
  }

  size_t after_block(size_t at) const {
    for (int open = 1; open > 0; ++at) open += words_.at(at) == "{" ? 1 : words_.at(at) == "}" ? -1 : 0;
    return at;
  }

  size_t assignment(size_t at) {  // from left to right, which is what the parentheses ask for
    if (!starts_statement(at)) throw std::runtime_error("no statement: " + words_.at(at));
    long v = value(words_.at(at + 2));
    size_t i = at + 3;
    for (; !starts_statement(i); i += 2) {
      const long n = value(words_.at(i + 1));
      const std::string& op = words_[i];
      v = op == "+" ? v + n : op == "*" ? v * n : op == "%" ? v % n : throw std::runtime_error("operator " + op);
    }
    values_[words_[at]] = v;
    return i;
  }

  std::vector<std::string> words_;
  std::map<std::string, long> values_;
};

}  // namespace quern::gym
