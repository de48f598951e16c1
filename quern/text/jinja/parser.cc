// Recursive descent over the tokens; depth is bounded, so that no template can exhaust the stack.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "quern/base/error.h"
#include "quern/text/jinja/ast.h"
#include "quern/text/jinja/lexer.h"

namespace quern::text::jinja {
namespace {

using Kind = Token::Kind;
using E = Expression::Kind;
using S = Statement::Kind;
constexpr int kMaxDepth = 100;
constexpr int kMaxChain = 200;  // of operators or accesses in a row: evaluation recurses once for each

class Parser {
 public:
  explicit Parser(std::vector<Token> t) : t_(std::move(t)) {}
  Block whole() {
    Block b = block({});
    if (now().kind != Kind::end) bad("a closing tag without its opening");
    return b;
  }

 private:
  struct Deeper {
    explicit Deeper(Parser& p) : p_(p) {
      if (++p_.depth_ > kMaxDepth) p_.bad("nested too deeply");
    }
    ~Deeper() { --p_.depth_; }
    Parser& p_;
  };

  const Token& now() const { return t_[at_]; }
  [[noreturn]] void bad(const std::string& what) const { fail("chat template, line {}: {}", now().line, what); }
  bool is(Kind k, const char* text) const { return now().kind == k && now().text == text; }
  bool take(Kind k, const char* text) {
    if (!is(k, text)) return false;
    ++at_;
    return true;
  }
  bool symbol(const char* s) { return take(Kind::symbol, s); }
  bool word(const char* s) { return take(Kind::name, s); }
  void expect(const char* s) {
    if (!symbol(s)) bad(fmt::format("expected '{}', found '{}'", s, now().text));
  }
  std::string name() {
    if (now().kind != Kind::name) bad(fmt::format("expected a name, found '{}'", now().text));
    return t_[at_++].text;
  }
  void end_tag() {
    if (now().kind != Kind::close_block) bad(fmt::format("'{}' is too much in this tag", now().text));
    ++at_;
  }
  std::unique_ptr<Statement> statement(S k) {
    auto s = std::make_unique<Statement>();
    s->kind = k;
    s->line = now().line;
    return s;
  }
  ExpressionPtr make(E k, std::string name = {}) {
    auto e = std::make_unique<Expression>();
    e->kind = k;
    e->name = std::move(name);
    e->line = now().line;
    return e;
  }

  // Statements until one of the closing words, which is left unread.
  Block block(const std::set<std::string>& closing) {
    Deeper d(*this);
    Block b;
    for (;;) {
      if (now().kind == Kind::end) {
        if (!closing.empty()) bad(fmt::format("expected {{% {} %}}", *closing.begin()));
        return b;
      }
      if (now().kind == Kind::text) {
        b.push_back(statement(S::text));
        b.back()->text = t_[at_++].text;
      } else if (now().kind == Kind::open_output) {
        ++at_;
        auto s = statement(S::output);
        s->expression = expression();
        if (now().kind != Kind::close_output) bad(fmt::format("'{}' is too much in this output", now().text));
        ++at_;
        b.push_back(std::move(s));
      } else {
        if (t_[at_ + 1].kind == Kind::name && closing.count(t_[at_ + 1].text)) return b;
        if (closing.empty() && t_[at_ + 1].text.starts_with("end")) return b;
        ++at_;
        b.push_back(tag());
      }
    }
  }
  void close(const char* word_) {
    ++at_;
    if (!word(word_)) bad(fmt::format("expected {}", word_));
    end_tag();
  }

  std::unique_ptr<Statement> tag() {
    std::string w = name();
    if (w == "if") return conditional();
    if (w == "for") return loop();
    if (w == "set") return assignment();
    if (w == "macro") return macro();
    if (w == "generation") {  // marks what the model wrote; of no meaning when rendering
      end_tag();
      auto s = statement(S::group);
      s->body = block({"endgeneration"});
      close("endgeneration");
      return s;
    }
    if (w == "break" || w == "continue") {
      if (loops_ == 0) bad(w + " outside a loop");
      auto s = statement(w == "break" ? S::break_ : S::continue_);
      end_tag();
      return s;
    }
    bad(fmt::format("the tag '{}' is not supported", w));
  }

  std::unique_ptr<Statement> conditional() {
    Deeper d(*this);
    auto s = statement(S::conditional);
    s->expression = expression();
    end_tag();
    s->body = block({"elif", "else", "endif"});
    ++at_;
    if (word("elif")) {
      s->otherwise.push_back(conditional());  // reads the endif
      return s;
    }
    if (word("else")) {
      end_tag();
      s->otherwise = block({"endif"});
      ++at_;
    }
    if (!word("endif")) bad("expected endif");
    end_tag();
    return s;
  }

  std::unique_ptr<Statement> loop() {
    auto s = statement(S::loop);
    do s->targets.push_back(name());
    while (symbol(","));
    if (!word("in")) bad("expected 'in'");
    s->expression = disjunction();  // an `if` here belongs to the loop
    if (word("if")) s->filter = expression();
    if (word("recursive")) bad("recursive loops are not supported");
    end_tag();
    ++loops_;
    s->body = block({"else", "endfor"});
    --loops_;
    ++at_;
    if (word("else")) {
      end_tag();
      s->otherwise = block({"endfor"});
      ++at_;
    }
    if (!word("endfor")) bad("expected endfor");
    end_tag();
    return s;
  }

  std::unique_ptr<Statement> assignment() {
    auto s = statement(S::set);
    do {
      std::string target = name();
      if (symbol(".")) target += "." + name();
      s->targets.push_back(target);
    } while (symbol(","));
    if (symbol("=")) {
      s->expression = expression();
      if (is(Kind::symbol, ",")) {  // a tuple without brackets
        auto list = make(E::list);
        list->parts.push_back(std::move(s->expression));
        while (symbol(",")) list->parts.push_back(expression());
        s->expression = std::move(list);
      }
      end_tag();
      return s;
    }
    s->kind = S::set_block;
    end_tag();
    s->body = block({"endset"});
    close("endset");
    return s;
  }

  std::unique_ptr<Statement> macro() {
    auto s = statement(S::macro);
    s->text = name();
    expect("(");
    while (!symbol(")")) {
      s->targets.push_back(name());
      if (symbol("="))
        s->defaults.push_back(expression());
      else if (!s->defaults.empty())
        bad("a parameter without a default follows one with");
      if (!symbol(",") && !is(Kind::symbol, ")")) bad("expected ',' or ')'");
    }
    end_tag();
    int outer = std::exchange(loops_, 0);
    s->body = block({"endmacro"});
    loops_ = outer;
    close("endmacro");
    return s;
  }

  ExpressionPtr expression() {
    Deeper d(*this);
    ExpressionPtr value = disjunction();
    if (!word("if")) return value;
    auto e = make(E::conditional);
    e->parts.push_back(disjunction());
    e->parts.push_back(std::move(value));
    e->parts.push_back(word("else") ? expression() : nullptr);
    return e;
  }

  void link(int& length) const {
    if (++length > kMaxChain) bad("an expression is too long");
  }
  ExpressionPtr binary(std::string op, ExpressionPtr a, ExpressionPtr b) {
    auto e = make(E::binary, std::move(op));
    e->parts.push_back(std::move(a));
    e->parts.push_back(std::move(b));
    return e;
  }
  ExpressionPtr disjunction() {
    ExpressionPtr a = conjunction();
    for (int n = 0; word("or"); link(n)) a = binary("or", std::move(a), conjunction());
    return a;
  }
  ExpressionPtr conjunction() {
    ExpressionPtr a = negation();
    for (int n = 0; word("and"); link(n)) a = binary("and", std::move(a), negation());
    return a;
  }
  ExpressionPtr negation() {
    Deeper d(*this);
    if (!word("not")) return comparison();
    auto e = make(E::unary, "not");
    e->parts.push_back(negation());
    return e;
  }
  ExpressionPtr comparison() {
    ExpressionPtr a = sum();
    for (int n = 0;; link(n)) {
      std::string op;
      if (now().kind == Kind::symbol && std::set<std::string>{"==", "!=", "<", ">", "<=", ">="}.count(now().text))
        op = t_[at_++].text;
      else if (word("in"))
        op = "in";
      else if (is(Kind::name, "not") && t_[at_ + 1].text == "in")
        at_ += 2, op = "not in";
      else
        return a;
      a = binary(op, std::move(a), sum());
    }
  }
  ExpressionPtr chain(ExpressionPtr (Parser::*next)(), const std::vector<const char*>& operators) {
    ExpressionPtr a = (this->*next)();
    for (int n = 0;; link(n)) {
      auto op = std::find_if(operators.begin(), operators.end(), [&](const char* o) { return is(Kind::symbol, o); });
      if (op == operators.end()) return a;
      ++at_;
      a = binary(*op, std::move(a), (this->*next)());
    }
  }
  ExpressionPtr sum() { return chain(&Parser::concatenation, {"+", "-"}); }
  ExpressionPtr concatenation() { return chain(&Parser::product, {"~"}); }
  ExpressionPtr product() { return chain(&Parser::power, {"*", "//", "/", "%"}); }
  ExpressionPtr power() { return chain(&Parser::filtered_unary, {"**"}); }
  ExpressionPtr filtered_unary() { return unary(true); }
  // A sign binds tighter than ** and |: -2 ** 2 is 4 and -3|abs is 3, as in Jinja.
  ExpressionPtr unary(bool with_filters) {
    Deeper d(*this);
    for (const char* op : {"-", "+"})
      if (symbol(op)) {
        auto e = make(E::unary, op);
        e->parts.push_back(unary(false));
        return postfix(std::move(e), with_filters);
      }
    return postfix(primary(), with_filters);
  }

  ExpressionPtr primary() {
    Deeper d(*this);
    const Token t = now();
    auto literal = [&](Value v) {
      auto e = make(E::literal);
      e->literal = std::move(v);
      ++at_;
      return e;
    };
    switch (t.kind) {
      case Kind::string: {
        ExpressionPtr e = literal(t.text);
        std::string all = t.text;  // adjacent strings are one
        while (now().kind == Kind::string) all += t_[at_++].text;
        e->literal = all;
        return e;
      }
      case Kind::integer:
        return literal(static_cast<int64_t>(std::strtoll(t.text.c_str(), nullptr, 10)));
      case Kind::real:
        return literal(std::strtod(t.text.c_str(), nullptr));
      case Kind::name:
        if (t.text == "true" || t.text == "True") return literal(true);
        if (t.text == "false" || t.text == "False") return literal(false);
        if (t.text == "none" || t.text == "None") return literal(None{});
        ++at_;
        return make(E::name, t.text);
      default:
        break;
    }
    if (symbol("(")) return parenthesized();
    if (symbol("[")) return elements("]");
    if (symbol("{")) return dictionary();
    bad(fmt::format("expected a value, found '{}'", t.text));
  }
  ExpressionPtr parenthesized() {
    if (symbol(")")) return make(E::list);
    ExpressionPtr first = expression();
    if (symbol(")")) return first;
    expect(",");
    ExpressionPtr tuple = elements(")");
    tuple->parts.insert(tuple->parts.begin(), std::move(first));
    return tuple;
  }
  ExpressionPtr elements(const char* close_) {
    auto e = make(E::list);
    while (!symbol(close_)) {
      e->parts.push_back(expression());
      if (!symbol(",") && !is(Kind::symbol, close_)) bad(fmt::format("expected ',' or '{}'", close_));
    }
    return e;
  }
  ExpressionPtr dictionary() {
    auto e = make(E::dict);
    while (!symbol("}")) {
      e->parts.push_back(expression());
      expect(":");
      e->parts.push_back(expression());
      if (!symbol(",") && !is(Kind::symbol, "}")) bad("expected ',' or '}'");
    }
    return e;
  }

  ExpressionPtr postfix(ExpressionPtr e, bool with_filters) {
    for (int n = 0;; link(n)) {
      if (symbol(".")) {
        auto a = make(E::attribute, now().kind == Kind::integer ? t_[at_++].text : name());
        a->parts.push_back(std::move(e));
        e = std::move(a);
      } else if (symbol("[")) {
        e = subscript(std::move(e));
      } else if (symbol("(")) {
        auto c = make(E::call);
        c->parts.push_back(std::move(e));
        arguments(*c);
        e = std::move(c);
      } else if (with_filters && symbol("|")) {
        auto f = make(E::filter, name());
        f->parts.push_back(std::move(e));
        if (symbol("(")) arguments(*f);
        e = std::move(f);
      } else if (with_filters && word("is")) {
        bool no = word("not");
        auto f = make(E::test, name());
        f->negated = no;
        f->parts.push_back(std::move(e));
        if (symbol("("))
          arguments(*f);
        else if (now().kind == Kind::string || now().kind == Kind::integer ||
                 (now().kind == Kind::name &&
                  !std::set<std::string>{"and", "or", "if", "else", "is", "not", "in"}.count(now().text)))
          f->parts.push_back(postfix(primary(), false));
        e = std::move(f);
      } else {
        return e;
      }
    }
  }
  ExpressionPtr subscript(ExpressionPtr base) {
    std::vector<ExpressionPtr> bounds;
    bool slice = false;
    ExpressionPtr part;
    for (;;) {
      if (symbol(":")) {
        slice = true;
        bounds.push_back(std::move(part));
      } else if (symbol("]")) {
        bounds.push_back(std::move(part));
        break;
      } else {
        if (part) bad("expected ']'");
        part = expression();
      }
    }
    if (!slice && !bounds[0]) bad("an index is missing");
    if (bounds.size() > 3) bad("a slice has at most three parts");
    auto e = make(slice ? E::slice : E::subscript);
    e->parts.push_back(std::move(base));
    for (auto& b : bounds) e->parts.push_back(std::move(b));
    while (slice && e->parts.size() < 4) e->parts.push_back(nullptr);
    return e;
  }
  void arguments(Expression& call) {
    while (!symbol(")")) {
      if (now().kind == Kind::name && t_[at_ + 1].kind == Kind::symbol && t_[at_ + 1].text == "=") {
        std::string key = name();
        ++at_;
        call.named.emplace_back(key, expression());
      } else {
        if (!call.named.empty()) bad("a positional argument follows a named one");
        call.parts.push_back(expression());
      }
      if (!symbol(",") && !is(Kind::symbol, ")")) bad("expected ',' or ')'");
    }
  }

  std::vector<Token> t_;
  size_t at_ = 0;
  int depth_ = 0, loops_ = 0;
};

}  // namespace

Block parse(const std::string& source) { return Parser(tokenize(source)).whole(); }

}  // namespace quern::text::jinja
