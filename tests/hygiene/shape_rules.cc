#include "tests/hygiene/shape_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <stdexcept>

namespace quern::hygiene {
namespace {

// Words before a parenthesis that are no function's name.
constexpr std::array<std::string_view, 10> kNoNames = {"alignas",       "decltype", "noexcept", "requires",
                                                       "static_assert", "sizeof",   "explicit", "__attribute__",
                                                       "asm",           "if"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Where the comment, literal or preprocessor line that starts at i ends; i if none starts there.
size_t end_of_no_code(std::string_view t, size_t i) {
  const auto past = [&](std::string_view what, size_t from) {
    const size_t at = t.find(what, from);
    return at == t.npos ? t.size() : at + what.size();
  };
  if (t.substr(i, 2) == "//") return std::min(t.find('\n', i), t.size());
  if (t.substr(i, 2) == "/*") return past("*/", i + 2);
  const bool in_word = i > 0 && is_word(t[i - 1]);
  if (t.substr(i, 2) == "R\"" && !in_word) {
    const size_t open = std::min(t.find('(', i), t.size());
    return past(")" + std::string(t.substr(i + 2, open - i - 2)) + "\"", open);
  }
  if (t[i] == '"' || (t[i] == '\'' && !in_word)) {  // 1'000 holds no literal
    size_t end = i + 1;
    while (end < t.size() && t[end] != t[i]) end += t[end] == '\\' ? 2 : 1;
    return std::min(end + 1, t.size());
  }
  if (t[i] == '#') {
    const size_t line = t.rfind('\n', i);
    const std::string_view before = t.substr(line == t.npos ? 0 : line + 1, i - (line == t.npos ? 0 : line + 1));
    if (before.find_first_not_of(" \t") != before.npos) return i;
    size_t end = std::min(t.find('\n', i), t.size());
    while (end < t.size() && t[end - 1] == '\\') end = std::min(t.find('\n', end + 1), t.size());
    return end;
  }
  return i;
}

// The text with every comment, literal and preprocessor line blank; line breaks stay.
std::string code_only(std::string_view text) {
  std::string out(text);
  for (size_t i = 0; i < text.size();) {
    const size_t end = end_of_no_code(text, i);
    for (size_t k = i; k < end; ++k)
      if (out[k] != '\n') out[k] = ' ';
    i = std::max(end, i + 1);
  }
  return out;
}

// The parameters between the parenthesis at `open` and its partner. Commas of <…>, {…} and inner (…) separate none.
std::vector<std::string_view> parameters_at(std::string_view t, size_t open) {
  std::vector<std::string_view> out;
  int depth = 0, angles = 0;
  size_t begin = open + 1, i = open;
  for (; i < t.size(); ++i) {
    const char c = t[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth == 0) break;
    if (depth != 1) continue;
    if (c == '<') ++angles;
    if (c == '>' && t[i - 1] != '-' && angles > 0) --angles;
    if (c == ',' && angles == 0) out.push_back(t.substr(begin, i - begin)), begin = i + 1;
  }
  out.push_back(t.substr(begin, i - begin));
  if (out.size() == 1 && out[0].find_first_not_of(" \t\n") == std::string_view::npos) out.clear();
  return out;
}

// `bool b = true` and `const bool& b`, which a literal can stand for; neither `bool& out` nor `bool* out`.
bool is_bool(std::string_view parameter) {
  bool constant = false, seen = false;
  for (size_t i = 0; i < parameter.size();) {
    size_t end = i;
    while (end < parameter.size() && is_word(parameter[end])) ++end;
    const std::string_view word = parameter.substr(i, end - i);
    if (word.empty()) {
      const char c = parameter[i++];
      if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
      if (!seen && (c == '[' || c == ']')) continue;  // of [[maybe_unused]]
      return seen && (c == '=' || (c == '&' && constant));
    }
    i = end;
    if (word == "const") constant = true;
    if (word == "const" || word == "maybe_unused") continue;
    if (seen || word != "bool") return seen && parameter.substr(i).find_first_of("[(") == parameter.npos;
    seen = true;
  }
  return seen;
}

// Reads a file's code from brace to brace. Names are looked for only where declarations stand: outside function bodies.
class Reader {
 public:
  explicit Reader(std::string_view text) : code_(code_only(text)) {}

  std::vector<Function> read() {
    for (at_ = 0; at_ < code_.size(); ++at_) {
      const char c = code_[at_];
      if (c == '\n') ++line_;
      if (c == '(') open_parenthesis();
      if (c == ')') --depth_;
      if (c == '{') open_brace();
      if (c == '}') close_brace();
      if (c == ';' && depth_ == 0) begin_statement();
    }
    return std::move(found_);
  }

 private:
  struct Scope {
    bool declares = false;         // a namespace or class: declarations stand inside
    bool ends_statement = true;    // false: an initializer inside one
    std::ptrdiff_t function = -1;  // whose body it is
    int depth = 0, line = 0;       // of parentheses outside; of the brace
  };

  bool declaring() const {
    return std::ranges::all_of(scopes_, [](const Scope& s) { return s.declares; });
  }

  void begin_statement() {
    statement_ = at_ + 1;
    function_ = -1;
  }

  size_t back_over_spaces(size_t i) const {
    while (i > statement_ && std::isspace(static_cast<unsigned char>(code_[i - 1])) != 0) --i;
    return i;
  }

  // The name before the parenthesis: f( and (*f)( and operator()(; empty where none stands.
  std::string name_before(size_t i) const {
    i = back_over_spaces(i);
    if (i > statement_ && code_[i - 1] == ')') i = back_over_spaces(i - 1);
    if (i > statement_ && code_[i - 1] == '(') return "operator()";
    size_t begin = i;
    while (begin > statement_ && is_word(code_[begin - 1])) --begin;
    const std::string name = code_.substr(begin, i - begin);
    const size_t before = back_over_spaces(begin);
    const bool value = before > statement_ && (code_[before - 1] == '=' || code_[before - 1] == ',');
    return value || std::ranges::find(kNoNames, name) != kNoNames.end() ? "" : name;
  }

  void open_parenthesis() {
    if (depth_++ > 0 || !declaring() || code_.substr(at_, 2) == "(*") return;  // (*f)(…) counts at its second one
    std::string name = name_before(at_);
    if (name.empty()) return;
    if (function_ < 0 || name == "operator()") function_ = std::ssize(found_);
    const std::vector<std::string_view> parameters = parameters_at(code_, at_);
    found_.push_back(
        {std::move(name), line_, static_cast<int>(parameters.size()), 0, std::ranges::any_of(parameters, is_bool)});
  }

  bool statement_holds(std::string_view word) const {
    for (size_t i = code_.find(word, statement_); i < at_; i = code_.find(word, i + 1))
      if (!is_word(code_[i + word.size()]) && (i == 0 || !is_word(code_[i - 1]))) return true;
    return false;
  }

  void open_brace() {
    Scope s{.depth = depth_, .line = line_};
    const size_t before = back_over_spaces(at_);
    const bool member = function_ >= 0 && before > statement_ && is_word(code_[before - 1]) &&
                        !statement_holds("const") && !statement_holds("noexcept") && !statement_holds("override");
    if (depth_ > 0 || !declaring() || (member && code_.find(" : ", statement_) < at_)) {
      s.ends_statement = depth_ == 0 && !declaring();
    } else if (function_ >= 0) {
      s.function = function_;
    } else {
      s.declares = statement_holds("namespace") || statement_holds("struct") || statement_holds("class") ||
                   statement_holds("union") || statement_holds("extern");
    }
    scopes_.push_back(s);
    depth_ = 0;
    if (s.ends_statement) begin_statement();
  }

  void close_brace() {
    if (scopes_.empty()) return;
    const Scope s = scopes_.back();
    scopes_.pop_back();
    depth_ = s.depth;
    if (s.function >= 0) found_[static_cast<size_t>(s.function)].lines = line_ - s.line + 1;
    if (s.ends_statement) begin_statement();
  }

  std::string code_;
  std::vector<Function> found_;
  std::vector<Scope> scopes_;
  size_t at_ = 0, statement_ = 0;
  int line_ = 1, depth_ = 0;
  std::ptrdiff_t function_ = -1;  // the statement's first signature, in found_
};

}  // namespace

std::vector<Function> functions(std::string_view text) { return Reader(text).read(); }

std::vector<std::string> shape_complaints(std::span<const SourceFile> files) {
  std::vector<std::string> out;
  for (const SourceFile& f : files) {
    const bool header = f.path.ends_with(".h");
    for (const Function& function : functions(f.text)) {
      const int size = header ? function.parameters : function.lines,
                maximum = header ? kMaxParameters : kMaxFunctionLines;
      if (size <= maximum) continue;
      out.push_back(fmt::format("{}:{}: {} has {} {}, more than {}", f.path, function.line, function.name, size,
                                header ? "parameters" : "lines", maximum));
    }
  }
  return out;
}

std::vector<BoolException> bool_exceptions(std::string_view list) {
  std::vector<BoolException> out;
  std::istringstream in{std::string(list)};
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    BoolException e;
    std::string reason;
    if (!(fields >> e.path) || e.path.starts_with('#')) continue;
    if (!(fields >> e.name >> reason)) throw std::runtime_error("bool_parameters.txt, no reason: " + line);
    out.push_back(std::move(e));
  }
  return out;
}

std::vector<std::string> bool_complaints(std::span<const SourceFile> files,
                                         std::span<const BoolException> exceptions) {
  std::vector<std::string> out;
  std::vector<bool> used(exceptions.size());
  for (const SourceFile& f : files) {
    if (!f.path.ends_with(".h") && !f.path.ends_with(".hpp")) continue;
    for (const Function& function : functions(f.text)) {
      if (!function.takes_bool) continue;
      const auto e = std::ranges::find_if(
          exceptions, [&](const BoolException& x) { return x.path == f.path && x.name == function.name; });
      if (e == exceptions.end())
        out.push_back(fmt::format("{}:{}: {} takes a bool", f.path, function.line, function.name));
      else
        used[static_cast<size_t>(e - exceptions.begin())] = true;
    }
  }
  for (size_t i = 0; i < exceptions.size(); ++i)
    if (!used[i])
      out.push_back(
          fmt::format("bool_parameters.txt: {} in {} takes no bool", exceptions[i].name, exceptions[i].path));
  return out;
}

}  // namespace quern::hygiene
