#include "quern/verify/json_schema.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "quern/base/error.h"
#include "quern/base/nearest.h"
#include "quern/text/unicode/utf8.h"

namespace quern::verify {
namespace {

constexpr int kMaxDepth = 100;
constexpr int64_t kMaxSteps = 1'200'000;  // of one validation: schemas that branch and recurse end

const std::vector<std::string> kTypes = {"object", "array", "string", "integer", "number", "boolean", "null"};
const std::vector<std::string> kNotes = {"title", "description", "default",    "examples", "$schema",
                                         "$id",   "$comment",    "deprecated", "readOnly", "writeOnly",
                                         "$defs", "definitions", "$anchor"};
const std::vector<std::string> kCounts = {"minLength", "maxLength",     "minItems",
                                          "maxItems",  "minProperties", "maxProperties"};
const std::vector<std::string> kBounds = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};
const std::vector<std::string> kOne = {"items", "additionalProperties", "not"};        // hold a schema
const std::vector<std::string> kSeveral = {"anyOf", "oneOf", "allOf", "prefixItems"};  // hold a list of schemas
const std::vector<std::string> kOthers = {"type",     "enum",    "const",  "$ref",       "properties",
                                          "required", "pattern", "format", "uniqueItems"};

// Strict: the forms of RFC 3339, section 5.6, UUIDs and dotted addresses. What a form allows and the calendar does not,
// is_on_calendar() refuses.
const std::map<std::string, const char*, std::less<>> kFormats = {
    {"date", R"(\A[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])\z)"},
    {"time",
     R"(\A([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])\z)"},
    {"date-time",
     R"(\A[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])\z)"},
    {"uuid", R"(\A[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\z)"},
    {"ipv4", R"(\A((25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(\.(?!\z)|\z)){4})"}};

int two_digits(std::string_view s, size_t at) { return (s[at] - '0') * 10 + (s[at + 1] - '0'); }

// Of a text in the form of a date: whether the month has that day.
bool is_day_of_month(std::string_view date) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const int year = two_digits(date, 0) * 100 + two_digits(date, 2), month = two_digits(date, 5);
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return two_digits(date, 8) <= kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

// Of a text in the form of a time: a second 60 is the last of a day in UTC.
bool is_second_of_day(std::string_view time) {
  if (two_digits(time, 6) < 60) return true;
  int minute = two_digits(time, 0) * 60 + two_digits(time, 3);
  if (const size_t sign = time.find_first_of("+-"); sign != time.npos) {
    const int offset = two_digits(time, sign + 1) * 60 + two_digits(time, sign + 4);
    minute += time[sign] == '+' ? -offset : offset;
  }
  return (minute + 2 * 1440) % 1440 == 1439;
}

bool is_on_calendar(std::string_view format, std::string_view text) {
  if (format == "date") return is_day_of_month(text);
  if (format == "time") return is_second_of_day(text);
  return format != "date-time" || (is_day_of_month(text) && is_second_of_day(text.substr(11)));
}

bool in(const std::vector<std::string>& words, std::string_view w) {
  return std::ranges::find(words, w) != words.end();
}

template <class... A>
[[noreturn]] void refuse(const std::string& path, fmt::format_string<A...> f, A&&... a) {
  fail("JSON schema at {}: {}", path, fmt::format(f, std::forward<A>(a)...));
}

bool is_whole(const Json& v) {
  return v.is_int() || (v.is_number() && std::isfinite(v.as_double()) && v.as_double() == std::floor(v.as_double()));
}

bool has_type(const Json& v, const std::string& type) {
  if (type == "object") return v.is_object();
  if (type == "array") return v.is_array();
  if (type == "string") return v.is_string();
  if (type == "integer") return is_whole(v);
  if (type == "number") return v.is_number();
  return type == "boolean" ? v.is_bool() : v.is_null();
}

void check_value(const std::string& key, const Json& v, const std::string& path) {
  if (in(kCounts, key) && (!v.is_int() || v.as_int() < 0))
    refuse(path, "{}: expected a whole number, found {}", key, v.dump());
  if (in(kBounds, key) && !v.is_number()) refuse(path, "{}: expected a number, found {}", key, v.dump());
  if (key == "multipleOf" && !(v.as_double() > 0)) refuse(path, "multipleOf: expected a number above 0");
  if (key == "uniqueItems" && !v.is_bool()) refuse(path, "uniqueItems: expected true or false");
  if (key == "enum" && (!v.is_array() || v.as_array().empty())) refuse(path, "enum: expected a list of values");
  if (key == "format" && (!v.is_string() || !kFormats.contains(v.as_string())))
    refuse(path, "format {} is not supported (date, time, date-time, uuid and ipv4 are)", v.dump());
  if (key == "type") {
    const Json::Array types = v.is_array() ? v.as_array() : Json::Array{v};
    const bool known = !types.empty() && std::ranges::all_of(types, [](const Json& t) {
      return t.is_string() && in(kTypes, t.as_string());
    });
    if (!known) refuse(path, "type: {} is not a type", v.dump());
  }
  const bool names = key == "required" && v.is_array() &&
                     std::ranges::all_of(v.as_array(), [](const Json& name) { return name.is_string(); });
  if (key == "required" && !names) refuse(path, "required: expected a list of names");
}

}  // namespace

JsonSchema::JsonSchema(Json schema) : root_(std::move(schema)) { check_schema(root_, "#", 0); }

const Json& JsonSchema::pointed(const Json& ref, const std::string& path) const {
  if (!ref.is_string() || !ref.as_string().starts_with("#"))
    refuse(path, "$ref: only references inside the schema (\"#/…\") are supported");
  const std::string& text = ref.as_string();
  const Json* at = &root_;
  for (size_t from = 1; from < text.size();) {
    const size_t end = std::min(text.find('/', from + 1), text.size());
    std::string key = text.substr(from + 1, end - from - 1);
    for (const auto& [code, c] : {std::pair{"~1", "/"}, {"~0", "~"}})
      for (size_t k = 0; (k = key.find(code, k)) != key.npos; ++k) key.replace(k, 2, c);
    at = text[from] == '/' ? at->find(key) : nullptr;
    if (!at) refuse(path, "$ref \"{}\" leads nowhere", text);
    from = end;
  }
  return *at;
}

void JsonSchema::check_schema(const Json& s, const std::string& path, int depth) {
  if (depth > kMaxDepth) refuse(path, "nested deeper than {}", kMaxDepth);
  if (s.is_bool()) return;
  if (!s.is_object()) refuse(path, "expected a schema: an object, true or false");
  for (const auto& [key, v] : s.as_object()) {
    const std::string at = path + "/" + key;
    check_value(key, v, path);
    if (in(kOne, key)) {
      check_schema(v, at, depth + 1);
    } else if (in(kSeveral, key)) {
      if (!v.is_array() || v.as_array().empty()) refuse(path, "{}: expected a list of schemas", key);
      for (size_t i = 0; i < v.as_array().size(); ++i)
        check_schema(v.as_array()[i], fmt::format("{}/{}", at, i), depth + 1);
    } else if (key == "properties" || key == "$defs" || key == "definitions") {
      if (!v.is_object()) refuse(path, "{}: expected an object of schemas", key);
      for (const auto& [name, one] : v.as_object()) check_schema(one, at + "/" + name, depth + 1);
    } else if (key == "$ref") {
      const Json& target = pointed(v, path);
      if (!target.is_object() && !target.is_bool()) refuse(path, "$ref \"{}\" is not a schema", v.as_string());
    } else if (key == "pattern" || key == "format") {
      if (!v.is_string()) refuse(path, "{}: expected a string", key);
      try {
        patterns_.emplace(&v, text::Regex(key == "pattern" ? v.as_string() : kFormats.at(v.as_string())));
      } catch (const Error& e) {
        refuse(path, "{}: {}", key, e.what());
      }
    } else if (!in(kNotes, key) && !in(kCounts, key) && !in(kBounds, key) && !in(kOthers, key)) {
      refuse(path, "the keyword {} is not supported", key);
    }
  }
}

// One validation. Each function returns what is wrong, empty when nothing is.
struct JsonSchema::Check {
  const JsonSchema& schema;
  int64_t steps = 0;
  int depth = 0;

  static std::string wrong(const std::string& at, std::string what) {
    return fmt::format("at {}: {}", at.empty() ? "/" : at, what);
  }

  std::string value(const Json& s, const Json& v, const std::string& at) {
    if (++steps > kMaxSteps || depth > 2 * kMaxDepth) return "the schema takes too long to check";
    if (s.is_bool()) return s.as_bool() ? "" : wrong(at, "nothing is allowed there");
    ++depth;
    std::string out = plain(s, v, at);
    if (out.empty() && v.is_number()) out = number(s, v.as_double(), at);
    if (out.empty() && v.is_string()) out = string(s, v.as_string(), at);
    if (out.empty() && v.is_array()) out = array(s, v.as_array(), at);
    if (out.empty() && v.is_object()) out = object(s, v, at);
    if (out.empty()) out = combined(s, v, at);
    --depth;
    return out;
  }

  std::string plain(const Json& s, const Json& v, const std::string& at) const {
    if (const Json* t = s.find("type")) {
      const Json::Array types = t->is_array() ? t->as_array() : Json::Array{*t};
      if (std::ranges::none_of(types, [&](const Json& one) { return has_type(v, one.as_string()); }))
        return wrong(at, "expected type " + t->dump());
    }
    if (const Json* c = s.find("const"); c && !equal_json(*c, v)) return wrong(at, "expected " + c->dump());
    if (const Json* e = s.find("enum");
        e && std::ranges::none_of(e->as_array(), [&](const Json& one) { return equal_json(one, v); }))
      return wrong(at, "expected one of " + e->dump());
    return {};
  }

  std::string number(const Json& s, double v, const std::string& at) const {
    const auto bound = [&](const char* key, auto holds) {
      const Json* b = s.find(key);
      return b && !holds(v, b->as_double()) ? wrong(at, fmt::format("{} {}", key, b->dump())) : std::string();
    };
    for (std::string w : {bound("minimum", std::greater_equal<>()), bound("maximum", std::less_equal<>()),
                          bound("exclusiveMinimum", std::greater<>()), bound("exclusiveMaximum", std::less<>()),
                          bound("multipleOf", [](double x, double m) {
                            return std::abs(x / m - std::round(x / m)) <= 1e-9 * std::max(1.0, std::abs(x / m));
                          })})
      if (!w.empty()) return w;
    return {};
  }

  static std::string sized(const Json& s, const char* low, const char* high, size_t n, const std::string& at) {
    const auto size = static_cast<int64_t>(n);
    if (const Json* b = s.find(low); b && size < b->as_int())
      return wrong(at, fmt::format("{} {}", low, b->as_int()));
    if (const Json* b = s.find(high); b && size > b->as_int())
      return wrong(at, fmt::format("{} {}", high, b->as_int()));
    return {};
  }

  std::string string(const Json& s, const std::string& v, const std::string& at) const {
    if (std::string w = sized(s, "minLength", "maxLength", text::utf8_length(v), at); !w.empty()) return w;
    for (const char* key : {"pattern", "format"})
      if (const Json* p = s.find(key)) {
        text::RegexScratch scratch;
        if (!schema.patterns_.at(p).find(v, 0, scratch)) return wrong(at, fmt::format("{} {}", key, p->dump()));
      }
    if (const Json* f = s.find("format"); f && !is_on_calendar(f->as_string(), v))
      return wrong(at, fmt::format("no such {}", f->as_string()));
    return {};
  }

  std::string array(const Json& s, const Json::Array& v, const std::string& at) {
    if (std::string w = sized(s, "minItems", "maxItems", v.size(), at); !w.empty()) return w;
    const Json *items = s.find("items"), *first = s.find("prefixItems");
    if (items || first) steps += static_cast<int64_t>(v.size());
    for (size_t i = 0; i < v.size() && (items || first); ++i) {
      const Json* one = first && i < first->as_array().size() ? &first->as_array()[i] : items;
      std::string w = one ? value(*one, v[i], fmt::format("{}/{}", at, i)) : "";
      if (!w.empty()) return w;
    }
    if (const Json* u = s.find("uniqueItems"); u && u->as_bool()) {
      for (size_t i = 0; i < v.size(); ++i)
        for (size_t k = 0; k < i; ++k) {
          if (++steps > kMaxSteps) return "the schema takes too long to check";
          if (equal_json(v[i], v[k])) return wrong(at, "two items are the same");
        }
    }
    return {};
  }

  std::string object(const Json& s, const Json& v, const std::string& at) {
    if (std::string w = sized(s, "minProperties", "maxProperties", v.as_object().size(), at); !w.empty()) return w;
    if (const Json* required = s.find("required"))
      for (const Json& name : required->as_array())
        if (!v.find(name.as_string())) return wrong(at, fmt::format("'{}' is missing", name.as_string()));
    const Json *properties = s.find("properties"), *more = s.find("additionalProperties");
    if (properties || more) steps += static_cast<int64_t>(v.as_object().size());
    for (const auto& [name, x] : v.as_object()) {
      const Json* one = properties ? properties->find(name) : nullptr;
      if (!one) one = more;
      std::string w = one ? value(*one, x, at + "/" + name) : "";
      if (!w.empty()) return w;
    }
    return {};
  }

  std::string combined(const Json& s, const Json& v, const std::string& at) {
    if (const Json* ref = s.find("$ref"))
      if (std::string w = value(schema.pointed(*ref, at), v, at); !w.empty()) return w;
    if (const Json* all = s.find("allOf"))
      for (const Json& one : all->as_array())
        if (std::string w = value(one, v, at); !w.empty()) return w;
    for (const char* key : {"anyOf", "oneOf"})
      if (const Json* some = s.find(key)) {
        const auto n =
            std::ranges::count_if(some->as_array(), [&](const Json& one) { return value(one, v, at).empty(); });
        if (n == 0) return wrong(at, fmt::format("no branch of {} is satisfied", key));
        if (n > 1 && key == std::string_view("oneOf")) return wrong(at, "several branches of oneOf are satisfied");
      }
    if (const Json* no = s.find("not"); no && value(*no, v, at).empty())
      return wrong(at, steps > kMaxSteps ? "the schema takes too long to check" : "what 'not' forbids");
    return {};
  }
};

std::optional<std::string> JsonSchema::complaint(const Json& value) const {
  Check check{*this};
  std::string w = check.value(root_, value, "");
  if (check.steps > kMaxSteps) return "the schema takes too long to check";
  return w.empty() ? std::nullopt : std::optional(std::move(w));
}

bool equal_json(const Json& a, const Json& b) {
  if (a.is_int() && b.is_int()) return a.as_int() == b.as_int();
  if (a.is_number() && b.is_number()) return a.as_double() == b.as_double();
  if (a.is_array() && b.is_array()) return std::ranges::equal(a.as_array(), b.as_array(), equal_json);
  if (!a.is_object() || !b.is_object()) return a == b;
  if (a.as_object().size() != b.as_object().size()) return false;
  return std::ranges::all_of(a.as_object(), [&](const auto& m) {
    const Json* other = b.find(m.first);
    return other && equal_json(m.second, *other);
  });
}

}  // namespace quern::verify
