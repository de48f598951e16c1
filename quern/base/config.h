// Config structs: one `visit(v)` per struct serves reading, writing, `--set a=b` and help:
//
//   struct ZayaConfig {
//     int64_t hidden_size = 2048;
//     template <class V> void visit(V& v) { v("hidden_size", hidden_size, "residual width"); }
//   };
//   from_json(json, config, "config.json");   Json j = write_value(config);
//
// Reading leaves a missing or null field at its default and throws Error naming file and field on a wrong type, or a
// number outside its range. A fourth argument says more of the field (setting.h). A renamed field keeps its other key
// there, aka("old"): both keys are read, giving both is an error, and the first argument is the one that is written.
// What a program saved for itself is read with FieldPresence::required: a missing field is an Error, a further key not.
// Where keys are merged before they are read, see config_keys.h; for lists of settings and values from text, settings.h.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/nearest.h"
#include "quern/base/setting.h"
#include "quern/base/setting_text.h"

namespace quern {

inline void read_value(const Json& j, bool& out, const std::string& what) { out = j.as_bool(what); }
inline void read_value(const Json& j, int64_t& out, const std::string& what) { out = j.as_int(what); }
inline void read_value(const Json& j, uint64_t& out, const std::string& what) {  // negative: the bits it has
  out = static_cast<uint64_t>(j.as_int(what));
}
inline void read_value(const Json& j, double& out, const std::string& what) { out = j.as_double(what); }
inline void read_value(const Json& j, std::string& out, const std::string& what) { out = j.as_string(what); }
inline void read_value(const Json& j, Json& out, const std::string&) { out = j; }
template <class T>
requires std::is_arithmetic_v<T>  // int, uint32_t, float …
void read_value(const Json& j, T& out, const std::string& what) {
  if constexpr (std::is_integral_v<T>) {
    const int64_t v = j.as_int(what);
    if (!std::in_range<T>(v)) fail("{}: {} is out of range", what, v);
    out = static_cast<T>(v);
  } else {
    out = static_cast<T>(j.as_double(what));
  }
}
template <NamedEnum E>
void read_value(const Json& j, E& out, const std::string& what) {
  try {
    parse_setting(j.as_string(what), out);
  } catch (const Error& e) {
    fail("{}: {}", what, e.what());
  }
}

enum class FieldPresence { optional, required };
enum class UnknownKeys { ignore, refuse };

class ConfigReader;
template <class T>
concept ConfigStruct = requires(T& t, ConfigReader& r) {
  t.visit(r);
};
template <ConfigStruct C>  // a struct inside a struct; its keys must be known too
void read_value(const Json& j, C& out, const std::string& what, FieldPresence fields = FieldPresence::optional);
template <class T>
void read_value(const Json& j, std::vector<T>& out, const std::string& what,
                FieldPresence fields = FieldPresence::optional);
template <class T>
void read_value(const Json& j, std::optional<T>& out, const std::string& what,
                FieldPresence fields = FieldPresence::optional);
template <class A, class B>
void read_value(const Json& j, std::pair<A, B>& out, const std::string& what,
                FieldPresence fields = FieldPresence::optional);
template <class T, size_t N>
void read_value(const Json& j, T (&out)[N], const std::string& what, FieldPresence fields = FieldPresence::optional);

template <class T>
void read_field(const Json& j, T& out, const std::string& what, FieldPresence fields) {
  if constexpr (requires { read_value(j, out, what, fields); })
    read_value(j, out, what, fields);
  else
    read_value(j, out, what);
}
template <class T>
void read_value(const Json& j, std::vector<T>& out, const std::string& what, FieldPresence fields) {
  out.clear();
  for (const Json& x : j.as_array(what)) {
    out.emplace_back();
    read_field(x, out.back(), what, fields);
  }
}
template <class T>
void read_value(const Json& j, std::optional<T>& out, const std::string& what, FieldPresence fields) {
  if (j.is_null()) return out.reset();
  out.emplace();
  read_field(j, *out, what, fields);
}
template <class A, class B>
void read_value(const Json& j, std::pair<A, B>& out, const std::string& what, FieldPresence fields) {
  const Json::Array& a = j.as_array(what);
  if (a.size() != 2) fail("{}: expected a pair, found {} values", what, a.size());
  read_field(a[0], out.first, what, fields), read_field(a[1], out.second, what, fields);
}
template <class T, size_t N>
void read_value(const Json& j, T (&out)[N], const std::string& what, FieldPresence fields) {
  const Json::Array& a = j.as_array(what);
  if (a.size() != N) fail("{}: expected {} values, found {}", what, N, a.size());
  for (size_t i = 0; i < N; ++i) read_field(a[i], out[i], what, fields);
}

template <ConfigStruct C>
Json write_value(const C& v);
template <class T>
requires(!ConfigStruct<T>) Json write_value(const T& v) {
  if constexpr (std::is_same_v<T, bool>)
    return Json(v);
  else if constexpr (std::is_integral_v<T>)
    return Json(static_cast<int64_t>(v));
  else if constexpr (std::is_floating_point_v<T>)
    return Json(static_cast<double>(v));
  else if constexpr (NamedEnum<T>)
    return Json(setting_text(v));
  else
    return Json(v);
}
template <class T>
Json write_value(const std::vector<T>& v);
template <class T>
Json write_value(const std::optional<T>& v);
template <class A, class B>
Json write_value(const std::pair<A, B>& v) {
  Json a = Json::array();
  a.push(write_value(v.first)), a.push(write_value(v.second));
  return a;
}
template <class T, size_t N>
requires(!std::is_same_v<T, char>) Json write_value(const T (&v)[N]) {
  Json a = Json::array();
  for (const T& x : v) a.push(write_value(x));
  return a;
}
template <class T>
Json write_value(const std::vector<T>& v) {
  Json a = Json::array();
  for (const T& x : v) a.push(write_value(x));
  return a;
}
template <class T>
Json write_value(const std::optional<T>& v) {
  return v ? write_value(*v) : Json();
}

class ConfigReader {
 public:
  ConfigReader(const Json& j, std::string where, FieldPresence fields = FieldPresence::optional)
      : json_(j), where_(std::move(where)), fields_(fields) {}
  template <class T>
  void operator()(const char* name, T& field, const char* /*help*/ = "", const Setting& s = {}) {
    names_.push_back(name);
    const Json* v = given(name);
    if (s.alias) {
      names_.push_back(s.alias);
      if (const Json* other = given(s.alias)) {
        if (v) fail("{}: '{}' and '{}' are two names of one setting; give one of them", where_, name, s.alias);
        v = other, name = s.alias;
      }
    }
    if (!v && fields_ == FieldPresence::required) v = &json_.at(name, where_);
    if (!v) return;
    read_field(*v, field, where_ + ", " + name, fields_);
    if (const std::string fault = range_fault(s.range, field); !fault.empty())
      fail("{}, {}: {}", where_, name, fault);
  }
  // For configs of our own: every key must be known.
  void refuse_unknown() const {
    for (const auto& [k, v] : json_.as_object(where_))
      if (std::find(names_.begin(), names_.end(), k) == names_.end())
        fail("{}: unknown key '{}'{}", where_, k, did_you_mean(k, names_));
  }

 private:
  const Json* given(const char* key) const {
    const Json* v = json_.find(key);
    return v && !v->is_null() ? v : nullptr;
  }

  const Json& json_;
  std::string where_;
  FieldPresence fields_;
  std::vector<std::string> names_;  // aliases too
};

class ConfigWriter {
 public:
  explicit ConfigWriter(Json& j) : json_(j) {}
  template <class T>
  void operator()(const char* name, T& field, const char* /*help*/ = "", const Setting& = {}) {
    json_.set(name, write_value(field));
  }

 private:
  Json& json_;
};

template <class C>
void from_json(const Json& j, C& config, const std::string& where, UnknownKeys unknown = UnknownKeys::ignore,
               FieldPresence fields = FieldPresence::optional) {
  ConfigReader r(j, where, fields);
  config.visit(r);
  if (unknown == UnknownKeys::refuse) r.refuse_unknown();
}
template <class C>
void write_json(Json& j, const C& config) {  // sets the struct's fields, keeps every other key of j
  ConfigWriter w(j);
  const_cast<C&>(config).visit(w);
}

template <ConfigStruct C>
void read_value(const Json& j, C& out, const std::string& what, FieldPresence fields) {
  from_json(j, out, what, fields == FieldPresence::optional ? UnknownKeys::refuse : UnknownKeys::ignore, fields);
}
template <ConfigStruct C>
Json write_value(const C& v) {
  Json j = Json::object();
  write_json(j, v);
  return j;
}

}  // namespace quern
