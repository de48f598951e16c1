#include "quern/text/jinja/builtins.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text::jinja {
namespace {

using Filter = Value (*)(const Value&, const Arguments&);
using Test = bool (*)(const Value&, const Arguments&);

const std::string& text(const Value& v, const char* who) {
  if (!v.is<std::string>()) fail("chat template: {} needs a string, found {}", who, v.type_name());
  return v.str();
}
std::string text_or(const Arguments& a, size_t i, const char* name, std::string otherwise) {
  const Value* v = a.get(i, name);
  return v && !v->is<None>() ? text(*v, name) : otherwise;
}

std::string strip(const std::string& s, const std::string& chars, bool left, bool right) {
  size_t b = left ? std::min(s.find_first_not_of(chars), s.size()) : 0;
  size_t e = right ? s.find_last_not_of(chars) + 1 : s.size();
  return b < e ? s.substr(b, e - b) : "";
}
constexpr const char* kBlank = " \t\n\r\f\v";

std::string ascii_case(std::string s, int (*f)(int)) {
  for (char& c : s)
    if (static_cast<unsigned char>(c) < 0x80) c = static_cast<char>(f(static_cast<unsigned char>(c)));
  return s;
}
std::string capitalized(std::string s, bool every_word) {
  bool start = true;
  for (char& c : s) {
    auto u = static_cast<unsigned char>(c);
    if (u < 0x80) c = static_cast<char>(start ? std::toupper(u) : std::tolower(u));
    start = every_word && u < 0x80 && !std::isalpha(u);
  }
  return s;
}

std::string replaced(const std::string& s, const std::string& from, const std::string& to, int64_t maximum) {
  if (from.empty()) fail("chat template: replace needs a text to look for");
  std::string out;
  size_t at = 0;
  for (size_t hit; maximum != 0 && (hit = s.find(from, at)) != s.npos; at = hit + from.size(), --maximum) {
    out.append(s, at, hit - at).append(to);
    check_text(out.size());
  }
  return out + s.substr(at);
}

List split(const std::string& s, const Value* separator, int64_t maximum, bool from_right) {
  List out;
  if (!separator || separator->is<None>()) {
    for (size_t b = s.find_first_not_of(kBlank); b != s.npos;) {
      size_t e = maximum == 0 ? s.npos : s.find_first_of(kBlank, b);
      out.push_back(maximum == 0 ? strip(s.substr(b), kBlank, false, true) : s.substr(b, e == s.npos ? e : e - b));
      --maximum;
      b = e == s.npos ? e : s.find_first_not_of(kBlank, e);
    }
    return out;
  }
  const std::string& sep = text(*separator, "split");
  if (sep.empty()) fail("chat template: split needs a separator");
  if (from_right) {
    size_t end = s.size();
    for (size_t hit; maximum != 0 && end >= sep.size() && (hit = s.rfind(sep, end - sep.size())) != s.npos;
         end = hit, --maximum)
      out.insert(out.begin(), s.substr(hit + sep.size(), end - hit - sep.size()));
    out.insert(out.begin(), s.substr(0, end));
    return out;
  }
  size_t at = 0;
  for (size_t hit; maximum != 0 && (hit = s.find(sep, at)) != s.npos; at = hit + sep.size(), --maximum)
    out.push_back(s.substr(at, hit - at));
  out.push_back(s.substr(at));
  return out;
}

List items_of(const Value& v, const char* who) {  // what a loop over v sees
  if (v.is_list()) return v.list();
  List out;
  if (v.is_dict()) {
    for (auto& [k, x] : v.dict()) out.push_back(k);
  } else if (v.is<std::string>()) {
    for (size_t i = 0; i < v.str().size();) {
      uint32_t n = utf8_step(v.str(), i).len;
      out.push_back(v.str().substr(i, n));
      i += n;
    }
  } else if (!v.is_undefined()) {
    fail("chat template: {} needs a sequence, found {}", who, v.type_name());
  }
  return out;
}
List pairs_of(const Value& v) {
  List out;
  if (v.is_dict())
    for (auto& [k, x] : v.dict()) out.push_back(List{k, x});
  else if (!v.is_undefined())
    fail("chat template: items needs a mapping, found {}", v.type_name());
  return out;
}

Value attribute_path(const Value& v, const std::string& path) {
  Value at = v;
  for (size_t b = 0; b <= path.size();) {
    size_t e = std::min(path.find('.', b), path.size());
    const Value* next = at.is_dict() ? at.find(path.substr(b, e - b)) : nullptr;
    if (!next) return Undefined{path};
    at = Value(*next);
    b = e + 1;
  }
  return at;
}

Value joined(const Value& v, const Arguments& a) {
  std::string separator = text_or(a, 0, "d", ""), out;
  const Value* attribute = a.get(1, "attribute");
  bool first = true;
  for (const Value& x : items_of(v, "join")) {
    if (!first) out += separator;
    first = false;
    out += (attribute ? attribute_path(x, text(*attribute, "attribute")) : x).print();
    check_text(out.size());
  }
  return out;
}

Value length(const Value& v, const Arguments&) {
  if (v.is<std::string>()) return static_cast<int64_t>(utf8_length(utf8_lossy(v.str())));
  if (v.is_dict()) return static_cast<int64_t>(v.dict().size());
  if (v.is_list()) return static_cast<int64_t>(v.list().size());
  fail("chat template: length needs a sequence, found {}", v.type_name());
}

Value to_int(const Value& v, const Arguments& a) {
  int64_t otherwise = a.get(0, "default") ? a.get(0, "default")->as_int("default") : 0;
  if (v.is<double>()) return static_cast<int64_t>(std::clamp(v.as_double("int"), -9e18, 9e18));
  if (v.is_number()) return v.as_int("int");
  if (!v.is<std::string>()) return otherwise;
  char* end = nullptr;
  std::string s = strip(v.str(), kBlank, true, true);
  long long n = std::strtoll(s.c_str(), &end, 10);
  return s.empty() || *end ? otherwise : static_cast<int64_t>(n);
}
Value to_float(const Value& v, const Arguments&) {
  if (v.is_number()) return v.as_double("float");
  return v.is<std::string>() ? std::strtod(v.str().c_str(), nullptr) : 0.0;
}

// map('upper'), map(attribute='x', default=…)
Value mapped(const Value& v, const Arguments& a) {
  List out;
  const Value* attribute = a.get(SIZE_MAX, "attribute");
  const Value* otherwise = a.get(SIZE_MAX, "default");
  if (!attribute && a.positional.empty()) fail("chat template: map needs a filter or attribute=");
  Arguments rest;
  if (!attribute) rest.positional.assign(a.positional.begin() + 1, a.positional.end());
  for (const Value& x : items_of(v, "map")) {
    if (!attribute) {
      out.push_back(apply_filter(text(a.positional[0], "map"), x, rest));
      continue;
    }
    Value found = attribute_path(x, text(*attribute, "attribute"));
    out.push_back(found.is_undefined() && otherwise ? *otherwise : found);
  }
  return out;
}

// select/reject('test', …) and selectattr/rejectattr('attribute', 'test', …)
Value filtered(const Value& v, const Arguments& a, bool by_attribute, bool keep) {
  size_t first = by_attribute;
  if (by_attribute && a.positional.empty()) fail("chat template: selectattr and rejectattr need an attribute");
  Arguments rest;
  if (a.positional.size() > first)
    rest.positional.assign(a.positional.begin() + static_cast<std::ptrdiff_t>(first) + 1, a.positional.end());
  List out;
  for (const Value& x : items_of(v, "select")) {
    Value subject = by_attribute ? attribute_path(x, text(a.positional[0], "attribute")) : x;
    bool hit =
        a.positional.size() > first ? apply_test(text(a.positional[first], "test"), subject, rest) : subject.truthy();
    if (hit == keep) out.push_back(x);
  }
  return out;
}

Value sorted(const Value& v, const Arguments& a) {
  List l = items_of(v, "sort");
  const Value* attribute = a.get(SIZE_MAX, "attribute");
  auto key = [&](const Value& x) { return attribute ? attribute_path(x, text(*attribute, "attribute")) : x; };
  std::stable_sort(l.begin(), l.end(), [&](const Value& x, const Value& y) { return compare(key(x), key(y)) < 0; });
  if (const Value* r = a.get(0, "reverse"); r && r->truthy()) std::reverse(l.begin(), l.end());
  return l;
}

Value indented(const Value& v, const Arguments& a) {
  int64_t width = a.get(0, "width") ? a.get(0, "width")->as_int("indent") : 4;
  bool first = a.get(1, "first") && a.get(1, "first")->truthy();
  if (width < 0 || width > 1000) fail("chat template: indent of {} blanks", width);
  std::string pad(static_cast<size_t>(width), ' '), out = first ? pad : "";
  const std::string& s = text(v, "indent");
  for (size_t i = 0; i < s.size(); ++i) {
    out += s[i];
    if (s[i] == '\n' && i + 1 < s.size() && s[i + 1] != '\n') out += pad;
    check_text(out.size());
  }
  return out;
}

Value first_or_last(const Value& v, bool first) {
  List l = items_of(v, "first");
  if (l.empty()) return Undefined{"an empty sequence"};
  return first ? l.front() : l.back();
}

Value unique(const Value& v, const Arguments&) {
  List out;
  for (const Value& x : items_of(v, "unique"))
    if (!contains(Value(out), x)) out.push_back(x);
  return out;
}

const std::map<std::string, Filter>& filters() {
  static const std::map<std::string, Filter> table = {
      {"trim",
       [](const Value& v, const Arguments& a) {
         return Value(strip(v.print(), text_or(a, 0, "chars", kBlank), true, true));
       }},
      {"length", length},
      {"count", length},
      {"join", joined},
      {"upper", [](const Value& v, const Arguments&) { return Value(ascii_case(v.print(), std::toupper)); }},
      {"lower", [](const Value& v, const Arguments&) { return Value(ascii_case(v.print(), std::tolower)); }},
      {"capitalize", [](const Value& v, const Arguments&) { return Value(capitalized(v.print(), false)); }},
      {"title", [](const Value& v, const Arguments&) { return Value(capitalized(v.print(), true)); }},
      {"string", [](const Value& v, const Arguments&) { return Value(v.print()); }},
      {"safe", [](const Value& v, const Arguments&) { return v; }},
      {"int", to_int},
      {"float", to_float},
      {"abs",
       [](const Value& v, const Arguments&) {
         return v.is<double>() ? Value(std::abs(v.as_double("abs"))) : Value(std::abs(v.as_int("abs")));
       }},
      {"list", [](const Value& v, const Arguments&) { return Value(items_of(v, "list")); }},
      {"items", [](const Value& v, const Arguments&) { return Value(pairs_of(v)); }},
      {"dictsort",
       [](const Value& v, const Arguments&) {
         List l = pairs_of(v);
         std::stable_sort(l.begin(), l.end(),
                          [](const Value& x, const Value& y) { return compare(x.list()[0], y.list()[0]) < 0; });
         return Value(l);
       }},
      {"first", [](const Value& v, const Arguments&) { return first_or_last(v, true); }},
      {"last", [](const Value& v, const Arguments&) { return first_or_last(v, false); }},
      {"reverse",
       [](const Value& v, const Arguments&) {
         List l = items_of(v, "reverse");
         std::reverse(l.begin(), l.end());
         return v.is<std::string>() ? joined(Value(l), {}) : Value(l);
       }},
      {"sort", sorted},
      {"unique", unique},
      {"map", mapped},
      {"select", [](const Value& v, const Arguments& a) { return filtered(v, a, false, true); }},
      {"reject", [](const Value& v, const Arguments& a) { return filtered(v, a, false, false); }},
      {"selectattr", [](const Value& v, const Arguments& a) { return filtered(v, a, true, true); }},
      {"rejectattr", [](const Value& v, const Arguments& a) { return filtered(v, a, true, false); }},
      {"replace",
       [](const Value& v, const Arguments& a) {
         return Value(replaced(v.print(), text_or(a, 0, "old", ""), text_or(a, 1, "new", ""),
                               a.get(2, "count") ? a.get(2, "count")->as_int("count") : -1));
       }},
      {"default",
       [](const Value& v, const Arguments& a) {
         bool falsy = a.get(1, "boolean") && a.get(1, "boolean")->truthy();
         return v.is_undefined() || (falsy && !v.truthy())
                    ? (a.get(0, "default_value") ? *a.get(0, "default_value") : Value(""))
                    : v;
       }},
      {"tojson",
       [](const Value& v, const Arguments& a) {
         const Value* indent = a.get(SIZE_MAX, "indent");
         if (!indent) indent = a.get(0, "indent");
         return Value(dump_json(
             v, indent && !indent->is<None>() ? std::clamp<int64_t>(indent->as_int("indent"), 0, 100) : -1));
       }},
      {"indent", indented},
  };
  return table;
}

const std::map<std::string, Test>& tests() {
  static const std::map<std::string, Test> table = {
      {"defined", [](const Value& v, const Arguments&) { return !v.is_undefined(); }},
      {"undefined", [](const Value& v, const Arguments&) { return v.is_undefined(); }},
      {"none", [](const Value& v, const Arguments&) { return v.is<None>(); }},
      {"string", [](const Value& v, const Arguments&) { return v.is<std::string>(); }},
      {"mapping", [](const Value& v, const Arguments&) { return v.is_dict(); }},
      {"iterable",
       [](const Value& v, const Arguments&) {
         return v.is_list() || v.is_dict() || v.is<std::string>() || v.is_undefined();
       }},
      {"sequence",
       [](const Value& v, const Arguments&) {
         return v.is_list() || v.is_dict() || v.is<std::string>() || v.is_undefined();
       }},
      {"number", [](const Value& v, const Arguments&) { return v.is_number(); }},
      {"integer", [](const Value& v, const Arguments&) { return v.is<int64_t>(); }},
      {"float", [](const Value& v, const Arguments&) { return v.is<double>(); }},
      {"boolean", [](const Value& v, const Arguments&) { return v.is<bool>(); }},
      {"callable", [](const Value& v, const Arguments&) { return v.is_function(); }},
      {"true", [](const Value& v, const Arguments&) { return v.is<bool>() && v.truthy(); }},
      {"false", [](const Value& v, const Arguments&) { return v.is<bool>() && !v.truthy(); }},
      {"odd", [](const Value& v, const Arguments&) { return v.as_int("odd") % 2 != 0; }},
      {"even", [](const Value& v, const Arguments&) { return v.as_int("even") % 2 == 0; }},
      {"divisibleby",
       [](const Value& v, const Arguments& a) {
         int64_t by = a.get(0, "num") ? a.get(0, "num")->as_int("divisibleby") : 0;
         if (by == 0) fail("chat template: divisibleby needs a number other than 0");
         return v.as_int("divisibleby") % by == 0;
       }},
      {"equalto", [](const Value& v, const Arguments& a) { return equal(v, a.positional.at(0)); }},
      {"eq", [](const Value& v, const Arguments& a) { return equal(v, a.positional.at(0)); }},
      {"==", [](const Value& v, const Arguments& a) { return equal(v, a.positional.at(0)); }},
      {"ne", [](const Value& v, const Arguments& a) { return !equal(v, a.positional.at(0)); }},
      {"in", [](const Value& v, const Arguments& a) { return contains(a.positional.at(0), v); }},
      {"lower",
       [](const Value& v, const Arguments&) { return text(v, "lower") == ascii_case(v.str(), std::tolower); }},
      {"upper",
       [](const Value& v, const Arguments&) { return text(v, "upper") == ascii_case(v.str(), std::toupper); }},
  };
  return table;
}

template <class T>
const T& look_up(const std::map<std::string, T>& table, const char* kind, const std::string& name) {
  auto it = table.find(name);
  if (it != table.end()) return it->second;
  std::vector<std::string> names;
  for (const auto& [n, f] : table) names.push_back(n);
  fail("chat template: the {} '{}' is not known{}", kind, name, did_you_mean(name, names));
}

bool affix(const std::string& s, const Value& v, bool start) {
  auto one = [&](const Value& x) {
    return start ? s.starts_with(text(x, "startswith")) : s.ends_with(text(x, "endswith"));
  };
  if (!v.is_list()) return one(v);
  return std::any_of(v.list().begin(), v.list().end(), one);  // Python takes a tuple of alternatives
}

Value string_method(const std::string& s, const std::string& name) {
  auto bind = [&](auto f) { return Value(Function([s, f](const Arguments& a) { return Value(f(s, a)); })); };
  auto required = [](const Arguments& a, const char* who) -> const Value& {
    if (a.positional.empty()) fail("chat template: {} needs an argument", who);
    return a.positional[0];
  };
  auto count = [](const Arguments& a, size_t i, const char* n) { return a.get(i, n) ? a.get(i, n)->as_int(n) : -1; };
  if (name == "strip")
    return bind([](const std::string& x, const Arguments& a) {
      return strip(x, text_or(a, 0, "chars", kBlank), true, true);
    });
  if (name == "lstrip")
    return bind([](const std::string& x, const Arguments& a) {
      return strip(x, text_or(a, 0, "chars", kBlank), true, false);
    });
  if (name == "rstrip")
    return bind([](const std::string& x, const Arguments& a) {
      return strip(x, text_or(a, 0, "chars", kBlank), false, true);
    });
  if (name == "split")
    return bind([count](const std::string& x, const Arguments& a) {
      return split(x, a.get(0, "sep"), count(a, 1, "maxsplit"), false);
    });
  if (name == "rsplit")
    return bind([count](const std::string& x, const Arguments& a) {
      return split(x, a.get(0, "sep"), count(a, 1, "maxsplit"), true);
    });
  if (name == "splitlines")
    return bind([](const std::string& x, const Arguments&) {
      Value newline("\n");
      List l = split(x, &newline, -1, false);
      if (!l.empty() && l.back().str().empty()) l.pop_back();
      return l;
    });
  if (name == "startswith")
    return bind(
        [required](const std::string& x, const Arguments& a) { return affix(x, required(a, "startswith"), true); });
  if (name == "endswith")
    return bind(
        [required](const std::string& x, const Arguments& a) { return affix(x, required(a, "endswith"), false); });
  if (name == "replace")
    return bind([count](const std::string& x, const Arguments& a) {
      return replaced(x, text_or(a, 0, "old", ""), text_or(a, 1, "new", ""), count(a, 2, "count"));
    });
  if (name == "join")
    return bind([required](const std::string& x, const Arguments& a) {
      return joined(required(a, "join"), {{Value(x)}, {}});
    });
  if (name == "find")
    return bind([required](const std::string& x, const Arguments& a) {
      size_t at = x.find(text(required(a, "find"), "find"));
      return at == x.npos ? int64_t{-1} : static_cast<int64_t>(utf8_length(utf8_lossy(x.substr(0, at))));
    });
  if (name == "upper")
    return bind([](const std::string& x, const Arguments&) { return ascii_case(x, std::toupper); });
  if (name == "lower")
    return bind([](const std::string& x, const Arguments&) { return ascii_case(x, std::tolower); });
  if (name == "title") return bind([](const std::string& x, const Arguments&) { return capitalized(x, true); });
  if (name == "capitalize") return bind([](const std::string& x, const Arguments&) { return capitalized(x, false); });
  if (name == "isdigit")
    return bind([](const std::string& x, const Arguments&) {
      return !x.empty() && std::all_of(x.begin(), x.end(), [](unsigned char c) { return std::isdigit(c); });
    });
  return Undefined{name};
}

}  // namespace

void check_text(size_t bytes) {
  if (bytes > kMaxText) fail("chat template: a text grows beyond {} MiB", kMaxText >> 20);
}

Value apply_filter(const std::string& name, const Value& input, const Arguments& args) {
  return look_up(filters(), "filter", name)(input, args);
}

bool apply_test(const std::string& name, const Value& input, const Arguments& args) {
  Test t = look_up(tests(), "test", name);
  try {
    return t(input, args);
  } catch (const std::out_of_range&) {
    fail("chat template: the test '{}' needs an argument", name);
  }
}

Value method(const Value& object, const std::string& name) {
  if (object.is<std::string>()) return string_method(object.str(), name);
  if (!object.is_dict()) return Undefined{name};
  auto bind = [&](auto f) { return Value(Function([object, f](const Arguments& a) { return f(object, a); })); };
  if (name == "items") return bind([](const Value& d, const Arguments&) { return Value(pairs_of(d)); });
  if (name == "keys") return bind([](const Value& d, const Arguments&) { return Value(items_of(d, "keys")); });
  if (name == "values")
    return bind([](const Value& d, const Arguments&) {
      List out;
      for (auto& [k, v] : d.dict()) out.push_back(v);
      return Value(out);
    });
  if (name == "get")
    return bind([](const Value& d, const Arguments& a) {
      const Value* found =
          a.positional.empty() || !a.positional[0].is<std::string>() ? nullptr : d.find(a.positional[0].str());
      return found ? *found : a.get(1, "default") ? *a.get(1, "default") : Value(None{});
    });
  return Undefined{name};
}

}  // namespace quern::text::jinja
