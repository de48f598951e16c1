// Reads the list language: recursive descent, with the types of all names known, so that every expression has one.
#include <algorithm>
#include <array>
#include <cctype>

#include "quern/base/error.h"
#include "quern/code/expression.h"

namespace quern::code {
namespace {

using Op = Expression::Op;
constexpr ValueType kNumber = ValueType::number, kList = ValueType::list;
constexpr std::array<std::string_view, 5> kWords = {"let", "in", "if", "then", "else"};

struct Name {
  std::string name;
  ValueType type;
};

std::string_view type_name(ValueType t) { return t == kNumber ? "a number" : "a list"; }

class Parser {
 public:
  Parser(std::string_view text, std::vector<Name> scope) : text_(text), scope_(std::move(scope)) {
    if (text.size() > static_cast<size_t>(kMaxProgramText))
      fail("the program has {} characters: expected at most {}", text.size(), kMaxProgramText);
    next();
  }

  // f(a, b) = in front gives the arguments their names.
  void header() {
    if (!take("f")) return;
    expect("(");
    for (size_t i = 0; i < scope_.size(); ++i) {
      if (i > 0) expect(",");
      scope_[i].name = new_name();
    }
    expect(")"), expect("=");
  }

  ListFunction function() {
    header();
    ListFunction f;
    for (const Name& n : scope_) f.names.push_back(n.name);
    f.body = expression();
    if (!token_.empty()) wrong("the end");
    return f;
  }

 private:
  size_t here() const { return at_ - token_.size() + 1; }  // where the token begins, counted from 1
  [[noreturn]] void wrong(std::string_view expected) const {
    fail("at character {}: expected {}, found {}", here(), expected,
         token_.empty() ? "the end" : fmt::format("'{}'", token_));
  }

  void next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    const auto is_word = [&](size_t i) {
      return i < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[i])) != 0 || text_[i] == '_');
    };
    size_t end = at_;
    while (is_word(end)) ++end;
    if (end == at_ && at_ < text_.size()) {
      end = at_ + 1;
      for (std::string_view two : {"->", "++", "<=", ">=", "!="})
        if (text_.substr(at_, 2) == two) end = at_ + 2;
    }
    token_ = text_.substr(at_, end - at_);
    at_ = end;
  }

  bool is_name() const {
    return !token_.empty() && (std::isalpha(static_cast<unsigned char>(token_[0])) != 0 || token_[0] == '_');
  }
  bool take(std::string_view token) {
    if (token_ != token) return false;
    next();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) wrong(fmt::format("'{}'", token));
  }
  std::string new_name() {
    bool taken = false;
    for (std::string_view w : kWords) taken = taken || token_ == w;
    if (!is_name() || taken) wrong("a name");
    std::string name(token_);
    next();
    return name;
  }
  Expression typed(Expression e, ValueType type) const {
    if (e.type != type)
      fail("before character {}: expected {}, found {}", here(), type_name(type), type_name(e.type));
    return e;
  }
  Expression in_scope(Name name, Expression (Parser::*read)()) {
    scope_.push_back(std::move(name));
    Expression e = (this->*read)();
    scope_.pop_back();
    return e;
  }

  Expression expression() {
    deeper();
    Expression e = take("let") ? let() : take("if") ? choice() : sum();
    --depth_;
    return e;
  }

  void deeper() {
    if (++depth_ > kMaxNesting) fail("at character {}: more than {} levels of nesting", here(), kMaxNesting);
  }

  Expression let() {
    Expression e{.op = Op::let, .name = new_name()};
    expect("=");
    e.parts.push_back(expression());
    expect("in");
    e.parts.push_back(in_scope({e.name, e.parts[0].type}, &Parser::expression));
    e.type = e.parts[1].type;
    return e;
  }

  Expression choice() {
    Expression e{.op = Op::choice};
    e.parts.push_back(comparison());
    expect("then");
    e.parts.push_back(expression());
    expect("else");
    e.parts.push_back(typed(expression(), e.parts[1].type));
    e.type = e.parts[1].type;
    return e;
  }

  Expression comparison() {
    constexpr std::array<std::string_view, 6> kSigns = {"<", "<=", ">", ">=", "=", "!="};
    deeper();
    Expression e;
    e.parts.push_back(typed(sum(), kNumber));
    const auto sign = std::ranges::find(kSigns, token_);
    if (sign == kSigns.end()) wrong("a comparison");
    e.op = static_cast<Op>(static_cast<ptrdiff_t>(Op::less) + (sign - kSigns.begin()));
    next();
    e.parts.push_back(typed(sum(), kNumber));
    --depth_;
    return e;
  }

  Expression sum() {
    Expression e = product();
    while (token_ == "+" || token_ == "-" || token_ == "++") {
      const Op op = token_ == "+" ? Op::add : token_ == "-" ? Op::subtract : Op::join;
      const ValueType type = op == Op::join ? kList : kNumber;
      e = typed(std::move(e), type);
      next();
      e = binary(op, std::move(e), typed(product(), type));
    }
    return e;
  }

  Expression product() {
    Expression e = factor();
    while (token_ == "*" || token_ == "/" || token_ == "%") {
      const Op op = token_ == "*" ? Op::multiply : token_ == "/" ? Op::divide : Op::remainder;
      e = typed(std::move(e), kNumber);
      next();
      e = binary(op, std::move(e), typed(factor(), kNumber));
    }
    return e;
  }

  Expression binary(Op op, Expression a, Expression b) {
    // A chain of signs nests the tree without nesting the text.
    if (++chain_ > kMaxNesting * 4) fail("at character {}: more than {} signs", here(), kMaxNesting * 4);
    Expression e{.op = op, .type = a.type};
    e.parts.push_back(std::move(a)), e.parts.push_back(std::move(b));
    return e;
  }

  Expression factor() {
    bool minus = false;
    while (take("-")) minus = !minus;
    Expression e = atom();
    if (!minus) return e;
    if (e.op == Op::number) {
      e.number = -e.number;
      return e;
    }
    return binary(Op::subtract, Expression{}, typed(std::move(e), kNumber));
  }

  Expression atom() {
    if (take("(")) {
      Expression e = expression();
      expect(")");
      return e;
    }
    if (take("[")) return list();
    if (!token_.empty() && std::isdigit(static_cast<unsigned char>(token_[0])) != 0) return number();
    if (!is_name()) wrong("an expression");
    const std::string name(token_);
    next();
    return token_ == "(" ? call(name) : variable(name);
  }

  Expression number() {
    Expression e;
    if (token_.size() > 10) fail("at character {}: a number beyond a thousand million", here());
    for (char c : token_) {
      if (c < '0' || c > '9') wrong("a number");
      e.number = e.number * 10 + (c - '0');
    }
    if (e.number > kMaxNumber) fail("at character {}: a number beyond a thousand million", here());
    next();
    return e;
  }

  Expression list() {
    Expression e{.op = Op::list, .type = kList};
    if (take("]")) return e;
    do e.parts.push_back(typed(expression(), kNumber));
    while (take(","));
    expect("]");
    return e;
  }

  Expression variable(const std::string& name) {
    for (size_t i = scope_.size(); i-- > 0;)
      if (scope_[i].name == name)
        return {.op = Op::variable, .type = scope_[i].type, .number = static_cast<int64_t>(i), .name = name};
    fail("before character {}: '{}' is not a name in scope", here(), name);
  }

  Expression call(const std::string& name) {
    expect("(");
    if (name == "map" || name == "filter") return over_list(name == "map" ? Op::map : Op::filter);
    if (name == "fold") return fold();
    const auto& all = list_builtins();
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].name != name) continue;
      Expression e{.op = Op::call, .type = all[i].gives, .number = static_cast<int64_t>(i)};
      for (ValueType t : all[i].takes) {
        if (!e.parts.empty()) expect(",");
        e.parts.push_back(typed(expression(), t));
      }
      expect(")");
      return e;
    }
    fail("before character {}: '{}' is not a function", here(), name);
  }

  Expression over_list(Op op) {
    Expression e{.op = op, .type = kList, .name = new_name()};
    expect("->");
    e.parts.push_back(op == Op::map ? typed(in_scope({e.name, kNumber}, &Parser::expression), kNumber)
                                    : in_scope({e.name, kNumber}, &Parser::comparison));
    expect(",");
    e.parts.push_back(typed(expression(), kList));
    expect(")");
    return e;
  }

  // The type of the total is that of its start, which stands behind the body and is read first.
  Expression fold() {
    Expression e{.op = Op::fold, .name = new_name()};
    e.other = new_name();
    expect("->");
    const Place body = place();
    int open = 0;
    while (!token_.empty() && (open > 0 || token_ != ",")) {
      open += token_ == "(" || token_ == "[" ? 1 : token_ == ")" || token_ == "]" ? -1 : 0;
      next();
    }
    expect(",");
    Expression start = expression();
    e.type = start.type;
    const Place after_start = place();
    go_to(body);
    scope_.push_back({e.name, e.type});
    e.parts.push_back(typed(in_scope({e.other, kNumber}, &Parser::expression), e.type));
    scope_.pop_back();
    expect(",");
    go_to(after_start);
    e.parts.push_back(std::move(start));
    expect(",");
    e.parts.push_back(typed(expression(), kList));
    expect(")");
    return e;
  }

  struct Place {
    size_t at;
    std::string_view token;
  };
  Place place() const { return {at_, token_}; }
  void go_to(const Place& p) { at_ = p.at, token_ = p.token; }

  std::string_view text_, token_;
  std::vector<Name> scope_;
  size_t at_ = 0;
  int64_t depth_ = 0, chain_ = 0;
};

}  // namespace

ListFunction parse_function(std::string_view text, const std::vector<std::string>& names,
                            const std::vector<ValueType>& types) {
  std::vector<Name> scope;
  for (size_t i = 0; i < names.size(); ++i) scope.push_back({names[i], types.at(i)});
  return Parser(text, std::move(scope)).function();
}

}  // namespace quern::code
