// Aliases (aka) of config structs where JSON is merged or addressed before a struct reads it: a base file may use the
// old key of a field and the file that extends it the new one.
//
//   Json j = canonical_keys<Recipe>(read_toml(file), "nano.toml");      every alias becomes the key that is written
//   canonical_path<Recipe>("phase.0.rows") == "phase.0.batch_size"      the same for the path of one value
//
// Keys that no field has are left alone: reading reports them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quern/base/config.h"

namespace quern {

template <ConfigStruct C>
Json canonical_keys(Json j, const std::string& where);
template <ConfigStruct C>
std::string canonical_path(std::string_view path);

namespace config_keys {

template <class T>
struct Element {
  using type = T;
  static constexpr bool list = false;
};
template <class T>
struct Element<std::optional<T>> : Element<T> {};
template <class T>
struct Element<std::vector<T>> {
  using type = T;
  static constexpr bool list = true;
};

class KeyRenamer {
 public:
  KeyRenamer(Json& j, const std::string& where) : json_(j), where_(where) {}
  template <class T>
  void operator()(const char* name, T&, const char* = "", const Setting& s = {}) {
    for (auto& [key, value] : json_.members()) {
      if (s.alias && key == s.alias) {
        const Json* other = json_.find(name);
        if (other && !other->is_null() && !value.is_null())
          fail("{}: '{}' and '{}' are two names of one setting; give one of them", where_, name, s.alias);
        if (!other) key = name;
      }
      if (key == name) descend<T>(value, where_ + ", " + name);
    }
  }

 private:
  template <class T>
  static void descend(Json& value, const std::string& where) {
    using E = typename Element<T>::type;
    if constexpr (ConfigStruct<E>) {
      if (!Element<T>::list)
        value = canonical_keys<E>(std::move(value), where);
      else if (value.is_array())
        for (Json& item : value.items()) item = canonical_keys<E>(std::move(item), where);
    }
  }

  Json& json_;
  const std::string& where_;
};

class PathRenamer {
 public:
  explicit PathRenamer(std::string_view path) : rest_(path), key_(pop_key(rest_)), out_(path) {}
  template <class T>
  void operator()(const char* name, T&, const char* = "", const Setting& s = {}) {
    if (key_ != name && !(s.alias && key_ == s.alias)) return;
    out_ = name;
    std::string_view rest = rest_;
    using E = typename Element<T>::type;
    if constexpr (ConfigStruct<E>) {
      if (Element<T>::list && !rest.empty()) out_ += "." + std::string(pop_key(rest));
      if (!rest.empty()) out_ += "." + canonical_path<E>(rest), rest = {};
    }
    if (!rest.empty()) out_ += "." + std::string(rest);
  }
  std::string take() { return std::move(out_); }

 private:
  static std::string_view pop_key(std::string_view& path) {  // up to the first dot
    const size_t dot = path.find('.');
    std::string_view key = path.substr(0, dot);
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
    return key;
  }

  std::string_view rest_, key_;
  std::string out_;
};

}  // namespace config_keys

template <ConfigStruct C>
Json canonical_keys(Json j, const std::string& where) {
  if (!j.is_object()) return j;
  C fields;
  config_keys::KeyRenamer r(j, where);
  fields.visit(r);
  return j;
}

template <ConfigStruct C>
std::string canonical_path(std::string_view path) {
  C fields;
  config_keys::PathRenamer r(path);
  fields.visit(r);
  return r.take();
}

}  // namespace quern
