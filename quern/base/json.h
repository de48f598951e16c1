// JSON values that keep the order of their keys. nlohmann/json does the parsing and writing, only in json.cc.
// Accessors that expect a type throw Error naming the path they were asked for.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace quern {

class Json {
 public:
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;

  Json() = default;  // null
  Json(bool b) : v_(b) {}
  Json(int64_t i) : v_(i) {}
  Json(int i) : v_(int64_t{i}) {}
  Json(double d) : v_(d) {}
  Json(std::string s) : v_(std::move(s)) {}
  Json(std::string_view s) : v_(std::string(s)) {}
  Json(const char* s) : v_(std::string(s)) {}
  Json(Array a) : v_(std::move(a)) {}
  Json(Object o) : v_(std::move(o)) {}
  static Json array() { return Json(Array{}); }
  static Json object() { return Json(Object{}); }

  // `where` names the source in error messages. Nesting deeper than 128 is refused.
  static Json parse(std::string_view text, std::string_view where = "JSON");
  static Json read(const std::filesystem::path& file);
  std::string dump(int indent = -1) const;  // invalid UTF-8 is replaced

  bool is_null() const { return std::holds_alternative<std::monostate>(v_); }
  bool is_bool() const { return std::holds_alternative<bool>(v_); }
  bool is_int() const { return std::holds_alternative<int64_t>(v_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(v_); }
  bool is_string() const { return std::holds_alternative<std::string>(v_); }
  bool is_array() const { return std::holds_alternative<Array>(v_); }
  bool is_object() const { return std::holds_alternative<Object>(v_); }

  bool as_bool(std::string_view what = "value") const;
  int64_t as_int(std::string_view what = "value") const;  // accepts 3.0
  double as_double(std::string_view what = "value") const;
  const std::string& as_string(std::string_view what = "value") const;
  const Array& as_array(std::string_view what = "value") const;
  const Object& as_object(std::string_view what = "value") const;
  Array& items();     // must be an array
  Object& members();  // must be an object

  const Json* find(std::string_view key) const;                                  // null when absent or not an object
  const Json& at(std::string_view key, std::string_view what = "object") const;  // throws Error when absent
  void set(std::string_view key, Json value);  // replaces or appends; null becomes an object
  void erase(std::string_view key);
  void push(Json value);  // null becomes an array
  bool operator==(const Json&) const = default;

 private:
  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> v_;
};

}  // namespace quern
