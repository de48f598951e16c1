// Exact JSON serialization of structs for resumable runs: one visit(v) per struct names its fields. Unlike the reader
// of configurations it supports 64-bit counts, and every field must be present.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "quern/base/error.h"
#include "quern/base/json.h"

namespace quern::corpus {

class StateReader;
template <class T>
concept StateStruct = requires(T& t, StateReader& r) {
  t.visit(r);
};

template <class T>
requires(std::integral<T> || std::floating_point<T>) Json state_json(const T& v) {
  if constexpr (std::same_as<T, bool>)
    return Json(v);
  else if constexpr (std::integral<T>)
    return Json(static_cast<int64_t>(v));
  else
    return Json(static_cast<double>(v));
}
inline Json state_json(const std::string& v) { return Json(v); }
inline Json state_json(const Json& v) { return v; }
template <StateStruct T>
Json state_json(const T& v);
template <class A, class B>
Json state_json(const std::pair<A, B>& v) {
  Json a = Json::array();
  a.push(state_json(v.first)), a.push(state_json(v.second));
  return a;
}
template <class T>
Json state_json(const std::vector<T>& v) {
  Json a = Json::array();
  for (const T& x : v) a.push(state_json(x));
  return a;
}
template <class T, size_t N>
Json state_json(const T (&v)[N]) {
  Json a = Json::array();
  for (const T& x : v) a.push(state_json(x));
  return a;
}

template <class T>
requires(std::integral<T> || std::floating_point<T>) void read_state(const Json& j, T& v) {
  if constexpr (std::same_as<T, bool>)
    v = j.as_bool("state");
  else if constexpr (std::integral<T>)
    v = static_cast<T>(j.as_int("state"));
  else
    v = static_cast<T>(j.as_double("state"));
}
inline void read_state(const Json& j, std::string& v) { v = j.as_string("state"); }
inline void read_state(const Json& j, Json& v) { v = j; }
template <StateStruct T>
void read_state(const Json& j, T& v);
template <class A, class B>
void read_state(const Json& j, std::pair<A, B>& v) {
  const Json::Array& a = j.as_array("state");
  if (a.size() != 2) fail("state: expected a pair, found {} values", a.size());
  read_state(a[0], v.first), read_state(a[1], v.second);
}
template <class T>
void read_state(const Json& j, std::vector<T>& v) {
  v.clear();
  for (const Json& x : j.as_array("state")) read_state(x, v.emplace_back());
}
template <class T, size_t N>
void read_state(const Json& j, T (&v)[N]) {
  const Json::Array& a = j.as_array("state");
  if (a.size() != N) fail("state: expected {} values, found {}", N, a.size());
  for (size_t i = 0; i < N; ++i) read_state(a[i], v[i]);
}

class StateWriter {
 public:
  template <class T>
  void operator()(const char* name, T& value) {
    json_.set(name, state_json(value));
  }
  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::object();
};
class StateReader {
 public:
  explicit StateReader(const Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* name, T& value) {
    read_state(json_.at(name, "state"), value);
  }

 private:
  const Json& json_;
};

template <StateStruct T>
Json state_json(const T& v) {
  StateWriter w;
  const_cast<T&>(v).visit(w);  // a writer changes nothing
  return w.take();
}
template <StateStruct T>
void read_state(const Json& j, T& v) {
  StateReader r(j);
  v.visit(r);
}

}  // namespace quern::corpus
