#include "quern/text/jinja/value.h"

#include <charconv>
#include <cmath>

#include "quern/base/error.h"

namespace quern::text::jinja {
namespace {

constexpr int kMaxDepth = 200;  // of nested values while printing and comparing

std::string float_repr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d > 0 ? "inf" : "-inf";
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, d).ptr;
  std::string s(buffer, end);
  return s.find_first_of(".e") == s.npos ? s + ".0" : s;
}

std::string python_quoted(const std::string& s) {
  char q = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  std::string out(1, q);
  for (char c : s) {
    if (c == q || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (c == '\r')
      out += "\\r";
    else
      out += c;
  }
  return out + q;
}

std::string repr_at(const Value& v, int depth) {
  if (depth > kMaxDepth) fail("chat template: values nested deeper than {}", kMaxDepth);
  if (v.is<std::string>()) return python_quoted(v.str());
  if (v.is_list()) {
    std::string s = "[";
    for (size_t i = 0; i < v.list().size(); ++i) s += (i ? ", " : "") + repr_at(v.list()[i], depth + 1);
    return s + "]";
  }
  if (v.is_dict()) {
    std::string s = "{";
    for (size_t i = 0; i < v.dict().size(); ++i)
      s += (i ? ", " : "") + python_quoted(v.dict()[i].first) + ": " + repr_at(v.dict()[i].second, depth + 1);
    return s + "}";
  }
  return v.print();
}

void json_at(const Value& v, int64_t indent, int depth, std::string& out) {
  if (depth > kMaxDepth) fail("chat template: values nested deeper than {}", kMaxDepth);
  auto line = [&](int d) {
    if (indent >= 0) out += '\n' + std::string(static_cast<size_t>(indent * d), ' ');
  };
  auto separator = [&] { out += indent >= 0 ? "," : ", "; };
  if (v.is_list()) {
    out += '[';
    for (size_t i = 0; i < v.list().size(); ++i) {
      if (i) separator();
      line(depth + 1);
      json_at(v.list()[i], indent, depth + 1, out);
    }
    if (!v.list().empty()) line(depth);
    out += ']';
  } else if (v.is_dict()) {
    out += '{';
    for (size_t i = 0; i < v.dict().size(); ++i) {
      if (i) separator();
      line(depth + 1);
      out += Json(v.dict()[i].first).dump() + ": ";
      json_at(v.dict()[i].second, indent, depth + 1, out);
    }
    if (!v.dict().empty()) line(depth);
    out += '}';
  } else if (v.is<double>()) {
    out += float_repr(v.as_double("number"));
  } else {
    out += v.to_json().dump();
  }
}

}  // namespace

Value Value::from_json(const Json& j) {
  if (j.is_null()) return None{};
  if (j.is_bool()) return j.as_bool();
  if (j.is_int()) return j.as_int();
  if (j.is_number()) return j.as_double();
  if (j.is_string()) return j.as_string();
  if (j.is_array()) {
    List l;
    for (const Json& x : j.as_array()) l.push_back(from_json(x));
    return l;
  }
  Dict d;
  for (const auto& [k, x] : j.as_object()) d.emplace_back(k, from_json(x));
  return d;
}

Json Value::to_json() const {
  if (is<None>()) return Json();
  if (is<bool>()) return Json(std::get<bool>(v_));
  if (is<int64_t>()) return Json(std::get<int64_t>(v_));
  if (is<double>()) return Json(std::get<double>(v_));
  if (is<std::string>()) return Json(str());
  fail("chat template: a value of type {} is not JSON serializable", type_name());
}

bool Value::truthy() const {
  if (is<bool>()) return std::get<bool>(v_);
  if (is<int64_t>()) return std::get<int64_t>(v_) != 0;
  if (is<double>()) return std::get<double>(v_) != 0;
  if (is<std::string>()) return !str().empty();
  if (is_list()) return !list().empty();
  if (is_dict()) return !dict().empty();
  return is_function();
}

int64_t Value::as_int(const char* what) const {
  if (is<bool>()) return std::get<bool>(v_);
  if (is<int64_t>()) return std::get<int64_t>(v_);
  fail("chat template: {}: expected an integer, found {}", what, type_name());
}
double Value::as_double(const char* what) const {
  if (is<double>()) return std::get<double>(v_);
  return static_cast<double>(as_int(what));
}

std::string Value::print() const {
  if (is<None>()) return "None";
  if (is<bool>()) return std::get<bool>(v_) ? "True" : "False";
  if (is<int64_t>()) return fmt::format("{}", std::get<int64_t>(v_));
  if (is<double>()) return float_repr(std::get<double>(v_));
  if (is<std::string>()) return str();
  if (is_list() || is_dict()) return repr();
  return is_function() ? "<function>" : "";
}
std::string Value::repr() const { return repr_at(*this, 0); }

const char* Value::type_name() const {
  static constexpr const char* kNames[] = {"undefined", "none", "boolean", "integer", "float",
                                           "string",    "list", "mapping", "function"};
  return kNames[v_.index()];
}

const Value* Value::find(const std::string& key) const {
  for (const auto& [k, v] : dict())
    if (k == key) return &v;
  return nullptr;
}
void Value::set(const std::string& key, Value v) const {
  for (auto& [k, old] : dict())
    if (k == key) {
      old = std::move(v);
      return;
    }
  dict().emplace_back(key, std::move(v));
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.as_double("==") == b.as_double("==");
  if (a.is<std::string>() && b.is<std::string>()) return a.str() == b.str();
  if (a.is_list() && b.is_list()) {
    if (a.list().size() != b.list().size()) return false;
    for (size_t i = 0; i < a.list().size(); ++i)
      if (!equal(a.list()[i], b.list()[i])) return false;
    return true;
  }
  if (a.is_dict() && b.is_dict()) {
    if (a.dict().size() != b.dict().size()) return false;
    for (const auto& [k, v] : a.dict())
      if (const Value* other = b.find(k); !other || !equal(v, *other)) return false;
    return true;
  }
  return (a.is<None>() && b.is<None>()) || (a.is_undefined() && b.is_undefined());
}

int compare(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    double x = a.as_double("<"), y = b.as_double("<");
    return x < y ? -1 : x > y;
  }
  if (a.is<std::string>() && b.is<std::string>()) return a.str().compare(b.str());
  fail("chat template: {} and {} cannot be ordered", a.type_name(), b.type_name());
}

bool contains(const Value& container, const Value& item) {
  if (container.is<std::string>()) {
    if (!item.is<std::string>()) fail("chat template: 'in' a string needs a string, found {}", item.type_name());
    return container.str().find(item.str()) != std::string::npos;
  }
  if (container.is_dict()) return item.is<std::string>() && container.find(item.str());
  if (container.is_list()) {
    for (const Value& x : container.list())
      if (equal(x, item)) return true;
    return false;
  }
  if (container.is_undefined()) return false;
  fail("chat template: 'in' does not work on {}", container.type_name());
}

std::string dump_json(const Value& v, int64_t indent) {
  std::string out;
  json_at(v, indent, 0, out);
  return out;
}

}  // namespace quern::text::jinja
