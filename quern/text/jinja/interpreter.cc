#include "quern/text/jinja/interpreter.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <ctime>

#include "quern/base/error.h"
#include "quern/text/jinja/builtins.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text::jinja {
namespace {

constexpr int64_t kMaxSteps = 5'000'000;  // expressions and statements; seconds, not minutes
constexpr int kMaxDepth = 400;            // of evaluation; about 200 KiB of stack each hundred
constexpr int64_t kMaxRange = 1'000'000;

using E = Expression::Kind;
using S = Statement::Kind;
enum class Flow { normal, break_, continue_ };

class Interpreter {
 public:
  explicit Interpreter(const Json& context) {
    Dict globals;
    for (const auto& [k, v] : context.as_object("chat template, context"))
      globals.emplace_back(k, Value::from_json(v));
    auto add = [&](const char* name, Function f) { globals.emplace_back(name, Value(std::move(f))); };
    add("raise_exception", [](const Arguments& a) -> Value {
      fail("chat template: {}", a.positional.empty() ? "raise_exception" : a.positional[0].print());
    });
    add("strftime_now",
        [](const Arguments& a) { return now(a.positional.empty() ? "%Y-%m-%d" : a.positional[0].print()); });
    add("namespace", [](const Arguments& a) {
      return Value(a.positional.empty() || !a.positional[0].is_dict() ? a.named : a.positional[0].dict());
    });
    add("dict", [](const Arguments& a) { return Value(a.named); });
    add("range", range);
    scopes_.push_back(std::move(globals));
  }

  std::string run(const Block& b) {
    scopes_.emplace_back();
    block(b);
    return std::move(out_);
  }

 private:
  struct Deeper {
    explicit Deeper(Interpreter& i) : i_(i) {
      if (++i_.depth_ > kMaxDepth) fail("chat template: nested deeper than {}", kMaxDepth);
      if (++i_.steps_ > kMaxSteps) fail("chat template: more than {} steps", kMaxSteps);
    }
    ~Deeper() { --i_.depth_; }
    Interpreter& i_;
  };

  static Value now(const std::string& format) {
    std::time_t t = std::time(nullptr);
    std::tm tm{};
    localtime_r(&t, &tm);
    char buffer[256];
    return std::string(buffer, std::strftime(buffer, sizeof buffer, format.c_str(), &tm));
  }
  static Value range(const Arguments& a) {
    if (a.positional.empty() || a.positional.size() > 3) fail("chat template: range takes one to three numbers");
    auto n = [&](size_t i) { return a.positional[i].as_int("range"); };
    int64_t b = a.positional.size() > 1 ? n(0) : 0, e = a.positional.size() > 1 ? n(1) : n(0),
            step = a.positional.size() > 2 ? n(2) : 1;
    if (step == 0) fail("chat template: range with a step of 0");
    List out;
    for (int64_t i = b; step > 0 ? i < e : i > e; i += step) {
      if (static_cast<int64_t>(out.size()) >= kMaxRange) fail("chat template: a range of more than {}", kMaxRange);
      out.push_back(i);
    }
    return out;
  }

  void write(const std::string& s) {
    out_ += s;
    check_text(out_.size());
  }
  Value look_up(const std::string& name) const {
    for (auto s = scopes_.rbegin(); s != scopes_.rend(); ++s)
      for (const auto& [k, v] : *s)
        if (k == name) return v;
    return Undefined{name};
  }
  void assign(const std::string& target, Value v) {
    if (size_t dot = target.find('.'); dot != target.npos) {
      Value object = look_up(target.substr(0, dot));
      if (!object.is_dict())
        fail("chat template: cannot set {}: '{}' is not a namespace", target, target.substr(0, dot));
      object.set(target.substr(dot + 1), std::move(v));
      return;
    }
    for (auto& [k, old] : scopes_.back())
      if (k == target) {
        old = std::move(v);
        return;
      }
    scopes_.back().emplace_back(target, std::move(v));
  }
  void unpack(const std::vector<std::string>& targets, Value v) {
    if (targets.size() == 1) return assign(targets[0], std::move(v));
    if (!v.is_list() || v.list().size() != targets.size())
      fail("chat template: {} values expected, found {}", targets.size(),
           v.is_list() ? fmt::format("{}", v.list().size()) : v.type_name());
    for (size_t i = 0; i < targets.size(); ++i) assign(targets[i], v.list()[i]);
  }

  Flow block(const Block& b) {
    for (const auto& s : b)
      if (Flow f = statement(*s); f != Flow::normal) return f;
    return Flow::normal;
  }

  Flow statement(const Statement& s) {
    Deeper d(*this);
    switch (s.kind) {
      case S::text:
        write(s.text);
        break;
      case S::output:
        write(evaluate(*s.expression).print());
        break;
      case S::conditional:
        return block(evaluate(*s.expression).truthy() ? s.body : s.otherwise);
      case S::loop:
        return loop(s);
      case S::set:
        unpack(s.targets, evaluate(*s.expression));
        break;
      case S::set_block:
        assign(s.targets[0], captured(s.body));
        break;
      case S::macro:
        assign(s.text, macro(s));
        break;
      case S::group:
        return block(s.body);
      case S::break_:
        return Flow::break_;
      case S::continue_:
        return Flow::continue_;
    }
    return Flow::normal;
  }

  std::string captured(const Block& b) {
    std::string outer = std::exchange(out_, "");
    scopes_.emplace_back();
    block(b);
    scopes_.pop_back();
    return std::exchange(out_, std::move(outer));
  }

  Value macro(const Statement& s) {
    return Function([this, &s](const Arguments& a) {
      Deeper d(*this);
      std::vector<Dict> outer(std::make_move_iterator(scopes_.begin() + 2), std::make_move_iterator(scopes_.end()));
      scopes_.resize(2);  // a macro sees the globals and the template's own names
      Dict own;
      size_t first_default = s.targets.size() - s.defaults.size();
      for (size_t i = 0; i < s.targets.size(); ++i) {
        const Value* given = a.get(i, s.targets[i].c_str());
        own.emplace_back(s.targets[i], given                ? *given
                                       : i >= first_default ? evaluate(*s.defaults[i - first_default])
                                                            : Value(Undefined{s.targets[i]}));
      }
      scopes_.push_back(std::move(own));
      std::string text = captured(s.body);
      scopes_.resize(2);
      for (Dict& scope : outer) scopes_.push_back(std::move(scope));
      return Value(text);
    });
  }

  Flow loop(const Statement& s) {
    List items = apply_filter("list", evaluate(*s.expression), {}).list();
    if (s.filter) {
      List kept;
      for (Value& item : items) {
        scopes_.emplace_back();
        unpack(s.targets, item);
        if (evaluate(*s.filter).truthy()) kept.push_back(item);
        scopes_.pop_back();
      }
      items = std::move(kept);
    }
    if (items.empty()) return block(s.otherwise);
    int64_t n = static_cast<int64_t>(items.size());
    for (int64_t i = 0; i < n; ++i) {
      Deeper d(*this);
      scopes_.emplace_back();
      unpack(s.targets, items[static_cast<size_t>(i)]);
      auto neighbor = [&](int64_t k) {
        return k >= 0 && k < n ? items[static_cast<size_t>(k)] : Value(Undefined{"loop"});
      };
      assign("loop", Dict{{"index", i + 1},
                          {"index0", i},
                          {"revindex", n - i},
                          {"revindex0", n - i - 1},
                          {"first", i == 0},
                          {"last", i + 1 == n},
                          {"length", n},
                          {"previtem", neighbor(i - 1)},
                          {"nextitem", neighbor(i + 1)},
                          {"cycle", Value(Function([i](const Arguments& a) {
                             if (a.positional.empty()) fail("chat template: loop.cycle needs values");
                             return a.positional[static_cast<size_t>(i) % a.positional.size()];
                           }))}});
      Flow f = block(s.body);
      scopes_.pop_back();
      if (f == Flow::break_) break;
    }
    return Flow::normal;
  }

  Arguments arguments(const Expression& e) {  // of a call, filter or test: everything after the first part
    Arguments a;
    for (size_t i = 1; i < e.parts.size(); ++i) a.positional.push_back(evaluate(*e.parts[i]));
    for (const auto& [k, v] : e.named) a.named.emplace_back(k, evaluate(*v));
    return a;
  }

  Value evaluate(const Expression& e) {
    Deeper d(*this);
    switch (e.kind) {
      case E::literal:
        return e.literal;
      case E::name:
        return look_up(e.name);
      case E::list: {
        List l;
        for (const auto& p : e.parts) l.push_back(evaluate(*p));
        return l;
      }
      case E::dict: {
        Value v{Dict()};
        for (size_t i = 0; i < e.parts.size(); i += 2)
          v.set(evaluate(*e.parts[i]).print(), evaluate(*e.parts[i + 1]));
        return v;
      }
      case E::attribute:
        return attribute(evaluate(*e.parts[0]), e.name);
      case E::subscript:
        return subscript(evaluate(*e.parts[0]), evaluate(*e.parts[1]));
      case E::slice:
        return slice(e);
      case E::call: {
        Value f = evaluate(*e.parts[0]);
        if (!f.is_function())
          fail("chat template, line {}: {} cannot be called", e.line,
               f.is_undefined() ? "'" + f.undefined().name + "', which is undefined," : f.type_name());
        return f.function()(arguments(e));
      }
      case E::filter:
        return apply_filter(e.name, evaluate(*e.parts[0]), arguments(e));
      case E::test:
        return apply_test(e.name, evaluate(*e.parts[0]), arguments(e)) != e.negated;
      case E::unary:
        return unary(e);
      case E::binary:
        return binary(e);
      case E::conditional:
        if (evaluate(*e.parts[0]).truthy()) return evaluate(*e.parts[1]);
        return e.parts[2] ? evaluate(*e.parts[2]) : Value(Undefined{"the other branch"});
    }
    return {};
  }

  Value attribute(const Value& object, const std::string& name) {
    if (object.is_undefined())
      fail("chat template: '{}' is undefined, and has no '{}'", object.undefined().name, name);
    if (object.is_dict()) {
      if (Value m = method(object, name); !m.is_undefined()) return m;
      if (const Value* v = object.find(name)) return *v;
      return Undefined{name};
    }
    if (object.is_list() && !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])))
      return subscript(object, static_cast<int64_t>(std::atoll(name.c_str())));
    return method(object, name);
  }

  Value subscript(const Value& object, const Value& key) {
    if (object.is_undefined())
      fail("chat template: '{}' is undefined, and has no [{}]", object.undefined().name, key.print());
    if (object.is_dict()) {
      const Value* v = key.is<std::string>() ? object.find(key.str()) : nullptr;
      return v ? *v : Value(Undefined{key.print()});
    }
    if (key.is<std::string>()) return attribute(object, key.str());
    List l = apply_filter("list", object, {}).list();
    int64_t n = static_cast<int64_t>(l.size()), i = key.as_int("index");
    if (i < 0) i += n;
    return i >= 0 && i < n ? l[static_cast<size_t>(i)] : Value(Undefined{fmt::format("element {}", key.print())});
  }

  Value slice(const Expression& e) {
    Value object = evaluate(*e.parts[0]);
    List l = apply_filter("list", object, {}).list(), out;
    int64_t n = static_cast<int64_t>(l.size());
    auto bound = [&](size_t part, int64_t otherwise) {
      if (!e.parts[part]) return otherwise;
      Value v = evaluate(*e.parts[part]);
      return v.is<None>() ? otherwise : v.as_int("slice");
    };
    int64_t step = bound(3, 1);
    if (step == 0) fail("chat template: a slice with a step of 0");
    auto place = [&](size_t part, int64_t otherwise) {
      int64_t i = bound(part, otherwise);
      if (!e.parts[part]) return i;
      if (i < 0) i += n;
      return std::clamp(i, step > 0 ? int64_t{0} : int64_t{-1}, step > 0 ? n : n - 1);
    };
    int64_t begin = place(1, step > 0 ? 0 : n - 1), end = place(2, step > 0 ? n : -1);
    for (int64_t i = begin; step > 0 ? i < end : i > end;) {
      out.push_back(l[static_cast<size_t>(i)]);
      if (__builtin_add_overflow(i, step, &i)) break;
    }
    return object.is<std::string>() ? apply_filter("join", Value(out), {}) : Value(out);
  }

  Value unary(const Expression& e) {
    Value v = evaluate(*e.parts[0]);
    if (e.name == "not") return !v.truthy();
    if (v.is<double>()) return e.name == "-" ? -v.as_double("-") : v.as_double("+");
    int64_t i = v.as_int("sign"), r = 0;
    if (e.name == "-" && __builtin_sub_overflow(int64_t{0}, i, &r)) fail("chat template: a number is too large");
    return e.name == "-" ? r : i;
  }

  Value binary(const Expression& e) {
    const std::string& op = e.name;
    Value a = evaluate(*e.parts[0]);
    if (op == "and") return a.truthy() ? evaluate(*e.parts[1]) : a;
    if (op == "or") return a.truthy() ? a : evaluate(*e.parts[1]);
    Value b = evaluate(*e.parts[1]);
    if (op == "==") return equal(a, b);
    if (op == "!=") return !equal(a, b);
    if (op == "in") return contains(b, a);
    if (op == "not in") return !contains(b, a);
    if (op == "<") return compare(a, b) < 0;
    if (op == ">") return compare(a, b) > 0;
    if (op == "<=") return compare(a, b) <= 0;
    if (op == ">=") return compare(a, b) >= 0;
    if (op == "~") return joined_text(a.print(), b.print());
    if (op == "+" && a.is<std::string>() && b.is<std::string>()) return joined_text(a.str(), b.str());
    if (op == "+" && a.is_list() && b.is_list()) {
      List l = a.list();
      l.insert(l.end(), b.list().begin(), b.list().end());
      if (static_cast<int64_t>(l.size()) > kMaxRange) fail("chat template: a list of more than {}", kMaxRange);
      return l;
    }
    if (op == "*" && a.is<std::string>()) return repeated(a.str(), b.as_int("repeat"));
    if (op == "%" && a.is<std::string>()) fail("chat template: % formatting is not supported");
    return arithmetic(op, a, b);
  }

  static Value joined_text(std::string a, const std::string& b) {
    check_text(a.size() + b.size());
    return std::move(a) + b;
  }
  static Value repeated(const std::string& s, int64_t n) {
    std::string out;
    if (n > 0)
      check_text(s.size() > 0 && static_cast<uint64_t>(n) > kMaxText ? SIZE_MAX : s.size() * static_cast<size_t>(n));
    for (int64_t i = 0; i < n && !s.empty(); ++i) out += s;
    return out;
  }

  static Value arithmetic(const std::string& op, const Value& a, const Value& b) {
    if (!a.is_number() || !b.is_number())
      fail("chat template: '{}' does not work on {} and {}", op, a.type_name(), b.type_name());
    bool whole = !a.is<double>() && !b.is<double>() && op != "/";
    if (!whole) {
      double x = a.as_double(op.c_str()), y = b.as_double(op.c_str());
      if (y == 0 && (op == "/" || op == "//" || op == "%")) fail("chat template: division by zero");
      if (op == "+") return x + y;
      if (op == "-") return x - y;
      if (op == "*") return x * y;
      if (op == "/") return x / y;
      if (op == "//") return std::floor(x / y);
      if (op == "%") return x - y * std::floor(x / y);
      return std::pow(x, y);
    }
    int64_t x = a.as_int(op.c_str()), y = b.as_int(op.c_str()), r = 0;
    bool over = false;
    if (op == "+") over = __builtin_add_overflow(x, y, &r);
    if (op == "-") over = __builtin_sub_overflow(x, y, &r);
    if (op == "*") over = __builtin_mul_overflow(x, y, &r);
    if (op == "**") {
      if (y < 0) return std::pow(static_cast<double>(x), static_cast<double>(y));
      r = 1;
      for (int64_t i = 0; i < y && !over && r != 0; ++i) {
        over = __builtin_mul_overflow(r, x, &r);
        if (i > 64 && x * x == 1) return y % 2 ? x : int64_t{1};
      }
    }
    if (op == "//" || op == "%") {
      if (y == 0) fail("chat template: division by zero");
      if (x == INT64_MIN && y == -1) over = true;
      if (!over) {
        int64_t q = x / y - ((x % y != 0) && ((x < 0) != (y < 0)));  // towards minus infinity, as Python
        r = op == "//" ? q : x - q * y;
      }
    }
    if (over) fail("chat template: a number is too large");
    return r;
  }

  std::vector<Dict> scopes_;  // globals, the template's own names, then one for each loop, block and macro
  std::string out_;
  int depth_ = 0;
  int64_t steps_ = 0;
};

}  // namespace

std::string render(const Block& program, const Json& context) { return Interpreter(context).run(program); }

}  // namespace quern::text::jinja
