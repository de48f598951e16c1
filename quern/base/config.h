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
// Where keys are merged before they are read, see config_keys.h; for lists of settings and values from text, settings.h.
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/json.h"
#include "quern/base/nearest.h"
#include "quern/base/setting.h"

namespace quern {

inline void read_value(const Json& j, bool& out, const std::string& what) { out = j.as_bool(what); }
inline void read_value(const Json& j, int64_t& out, const std::string& what) { out = j.as_int(what); }
inline void read_value(const Json& j, uint64_t& out, const std::string& what) {  // negative: the bits it has
  out = static_cast<uint64_t>(j.as_int(what));
}
inline void read_value(const Json& j, double& out, const std::string& what) { out = j.as_double(what); }
inline void read_value(const Json& j, std::string& out, const std::string& what) { out = j.as_string(what); }
inline void read_value(const Json& j, Json& out, const std::string&) { out = j; }

class ConfigReader;
template <class T>
concept ConfigStruct = requires(T& t, ConfigReader& r) {
  t.visit(r);
};
template <ConfigStruct C>  // a struct inside a struct; its keys must be known too
void read_value(const Json& j, C& out, const std::string& what);
template <class T>
void read_value(const Json& j, std::vector<T>& out, const std::string& what) {
  out.clear();
  for (const Json& x : j.as_array(what)) {
    out.emplace_back();
    read_value(x, out.back(), what);
  }
}
template <class T>
void read_value(const Json& j, std::optional<T>& out, const std::string& what) {
  out.emplace();
  read_value(j, *out, what);
}

template <ConfigStruct C>
Json write_value(const C& v);
inline Json write_value(uint64_t v) { return Json(static_cast<int64_t>(v)); }
template <class T>
requires(!ConfigStruct<T>) Json write_value(const T& v) { return Json(v); }
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
  ConfigReader(const Json& j, std::string where) : json_(j), where_(std::move(where)) {}
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
    if (!v) return;
    read_value(*v, field, where_ + ", " + name);
    if constexpr (std::is_arithmetic_v<T>)
      if (const std::string fault = bounds_fault(s.range, static_cast<double>(field)); !fault.empty())
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
void from_json(const Json& j, C& config, const std::string& where, bool strict = false) {
  ConfigReader r(j, where);
  config.visit(r);
  if (strict) r.refuse_unknown();
}
template <class C>
void write_json(Json& j, const C& config) {  // sets the struct's fields, keeps every other key of j
  ConfigWriter w(j);
  const_cast<C&>(config).visit(w);
}

template <ConfigStruct C>
void read_value(const Json& j, C& out, const std::string& what) {
  from_json(j, out, what, true);
}
template <ConfigStruct C>
Json write_value(const C& v) {
  Json j = Json::object();
  write_json(j, v);
  return j;
}

}  // namespace quern
