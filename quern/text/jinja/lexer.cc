#include "quern/text/jinja/lexer.h"

#include <algorithm>
#include <cctype>

#include "quern/base/error.h"

namespace quern::text::jinja {
namespace {

using Kind = Token::Kind;

class Lexer {
 public:
  explicit Lexer(const std::string& source) : s_(source) {
    if (!s_.empty() && s_.back() == '\n') s_.pop_back();  // one trailing newline is not part of a template
  }

  std::vector<Token> run() {
    while (at_ < s_.size()) {
      size_t tag = next_tag(at_);
      text(tag);
      if (tag >= s_.size()) break;
      inside(tag);
    }
    push(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  size_t next_tag(size_t from) const {
    for (size_t i = s_.find('{', from); i != s_.npos && i + 1 < s_.size(); i = s_.find('{', i + 1))
      if (s_[i + 1] == '{' || s_[i + 1] == '%' || s_[i + 1] == '#') return i;
    return s_.size();
  }
  void push(Kind k, std::string text) { tokens_.push_back({k, std::move(text), line_}); }
  [[noreturn]] void bad(const char* what) const { fail("chat template, line {}: {}", line_, what); }

  // The text up to a tag, trimmed by what stands on either side of it.
  void text(size_t tag) {
    std::string t = s_.substr(at_, tag - at_);
    size_t newlines = static_cast<size_t>(std::count(t.begin(), t.end(), '\n'));
    if (strip_next_) {
      t.erase(0, std::min(t.find_first_not_of(" \t\r\n\f\v"), t.size()));
    } else if (trim_newline_) {
      if (t.starts_with("\r\n"))
        t.erase(0, 2);
      else if (t.starts_with("\n"))
        t.erase(0, 1);
    }
    if (tag < s_.size()) {
      char sign = tag + 2 < s_.size() ? s_[tag + 2] : ' ';
      if (sign == '-') {
        t.erase(t.find_last_not_of(" \t\r\n\f\v") + 1);
      } else if (s_[tag + 1] != '{' && sign != '+') {
        // A block alone on its line: the blanks before it go (only if the line begins here or in this text).
        size_t keep = t.find_last_not_of(" \t");
        bool line_start = keep == t.npos ? (tag - t.size() == 0 || s_[tag - t.size() - 1] == '\n') : t[keep] == '\n';
        if (line_start) t.erase(keep == t.npos ? 0 : keep + 1);
      }
    }
    if (!t.empty()) push(Kind::text, std::move(t));
    line_ += static_cast<int>(newlines);
    at_ = tag;
  }

  void inside(size_t tag) {
    char kind = s_[tag + 1];
    at_ = tag + 2;
    if (at_ < s_.size() && (s_[at_] == '-' || s_[at_] == '+') && !(kind == '{' && s_[at_] == '+')) ++at_;
    if (kind == '#') {
      size_t end = s_.find("#}", at_);
      if (end == s_.npos) bad("a comment is not closed");
      line_ += static_cast<int>(std::count(s_.begin() + static_cast<std::ptrdiff_t>(at_),
                                           s_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
      closed(s_[end - 1] == '-' && end - 1 >= at_, s_[end - 1] == '+', true);
      at_ = end + 2;
      return;
    }
    push(kind == '{' ? Kind::open_output : Kind::open_block, "");
    size_t first = tokens_.size();
    words(kind == '{' ? "}}" : "%}");
    push(kind == '{' ? Kind::close_output : Kind::close_block, "");
    if (kind == '%' && tokens_.size() == first + 2 && tokens_[first].text == "raw") raw();
  }
  void closed(bool minus, bool plus, bool block) {
    strip_next_ = minus;
    trim_newline_ = block && !plus;
  }

  // {% raw %} … {% endraw %}: everything between is text.
  void raw() {
    tokens_.resize(tokens_.size() - 3);
    for (size_t i = next_tag(at_); i < s_.size(); i = next_tag(i + 1)) {
      size_t word = s_.find_first_not_of("-+ \t\n", i + 2);
      if (s_[i + 1] != '%' || word == s_.npos || s_.compare(word, 6, "endraw") != 0) continue;
      text(i);
      size_t end = s_.find("%}", i);
      if (end == s_.npos) bad("endraw is not closed");
      closed(s_[end - 1] == '-', s_[end - 1] == '+', true);
      at_ = end + 2;
      return;
    }
    bad("raw without endraw");
  }

  void words(const std::string& close) {
    bool block = close == "%}";
    int depth = 0;  // {{ {"a": {}} }}: a brace that closes a dict does not close the tag
    for (;;) {
      while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) line_ += s_[at_++] == '\n';
      if (at_ >= s_.size()) bad("a tag is not closed");
      if (depth == 0) {
        bool sign = s_[at_] == '-' || (s_[at_] == '+' && block);
        if (s_.compare(at_ + sign, 2, close) == 0) {
          closed(sign && s_[at_] == '-', sign && s_[at_] == '+', block);
          at_ += 2u + sign;
          return;
        }
      }
      one_word(depth);
    }
  }

  void one_word(int& depth) {
    unsigned char c = static_cast<unsigned char>(s_[at_]);
    if (c == '"' || c == '\'') return string(static_cast<char>(c));
    if (std::isdigit(c)) return number();
    if (std::isalpha(c) || c == '_') {
      size_t b = at_;
      while (at_ < s_.size() && (std::isalnum(static_cast<unsigned char>(s_[at_])) || s_[at_] == '_')) ++at_;
      return push(Kind::name, s_.substr(b, at_ - b));
    }
    for (const char* two : {"==", "!=", "<=", ">=", "//", "**"})
      if (s_.compare(at_, 2, two) == 0) {
        at_ += 2;
        return push(Kind::symbol, two);
      }
    if (std::string("+-*/%~<>=()[]{},.:|").find(static_cast<char>(c)) == std::string::npos)
      bad("a character that means nothing here");
    depth += (c == '{' || c == '[' || c == '(') - (c == '}' || c == ']' || c == ')');
    if (depth < 0) bad("a bracket is closed that was not opened");
    ++at_;
    push(Kind::symbol, std::string(1, static_cast<char>(c)));
  }

  void string(char quote) {
    std::string out;
    for (++at_; at_ < s_.size() && s_[at_] != quote; ++at_) {
      line_ += s_[at_] == '\n';
      if (s_[at_] != '\\' || at_ + 1 >= s_.size()) {
        out += s_[at_];
        continue;
      }
      switch (char e = s_[++at_]) {
        case 'n':
          out += '\n';
          break;
        case 't':
          out += '\t';
          break;
        case 'r':
          out += '\r';
          break;
        case '\\':
        case '\'':
        case '"':
          out += e;
          break;
        default:
          out += '\\', out += e;
      }
    }
    if (at_ >= s_.size()) bad("a string is not closed");
    ++at_;
    push(Kind::string, std::move(out));
  }

  void number() {
    size_t b = at_;
    while (at_ < s_.size() && std::isdigit(static_cast<unsigned char>(s_[at_]))) ++at_;
    bool real = at_ + 1 < s_.size() && s_[at_] == '.' && std::isdigit(static_cast<unsigned char>(s_[at_ + 1]));
    if (real)
      for (++at_; at_ < s_.size() && std::isdigit(static_cast<unsigned char>(s_[at_]));) ++at_;
    size_t mantissa = at_;
    if (at_ < s_.size() && (s_[at_] == 'e' || s_[at_] == 'E')) {
      size_t e = at_ + 1 + (at_ + 1 < s_.size() && (s_[at_ + 1] == '-' || s_[at_ + 1] == '+'));
      if (e < s_.size() && std::isdigit(static_cast<unsigned char>(s_[e]))) {
        real = true;
        for (at_ = e; at_ < s_.size() && std::isdigit(static_cast<unsigned char>(s_[at_]));) ++at_;
      }
    }
    if (mantissa - b > 18) bad("a number is too long");
    push(real ? Kind::real : Kind::integer, s_.substr(b, at_ - b));
  }

  std::string s_;
  size_t at_ = 0;
  int line_ = 1;
  bool strip_next_ = false, trim_newline_ = false;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(const std::string& source) { return Lexer(source).run(); }

}  // namespace quern::text::jinja
