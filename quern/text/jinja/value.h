// Values of the template language: Python's, as far as chat templates see them. Lists and dicts are shared handles
// (namespaces are mutable); everything else is a plain value. Dicts keep insertion order; tuples are lists (and print
// as such).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "quern/base/json.h"

namespace quern::text::jinja {

class Value;
struct Arguments;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;
using Function = std::function<Value(const Arguments&)>;

struct Undefined {
  std::string name;  // for messages
};
struct None {};

class Value {
 public:
  Value() : v_(Undefined{}) {}
  Value(Undefined u) : v_(std::move(u)) {}
  Value(None) : v_(None{}) {}
  Value(bool b) : v_(b) {}
  Value(int64_t i) : v_(i) {}
  Value(double d) : v_(d) {}
  Value(std::string s) : v_(std::move(s)) {}
  Value(const char* s) : v_(std::string(s)) {}
  Value(List l) : v_(std::make_shared<List>(std::move(l))) {}
  Value(Dict d) : v_(std::make_shared<Dict>(std::move(d))) {}
  Value(Function f) : v_(std::make_shared<Function>(std::move(f))) {}
  static Value from_json(const Json& j);
  Json to_json() const;  // throws on functions and undefined

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(v_);
  }
  bool is_list() const { return is<std::shared_ptr<List>>(); }
  bool is_dict() const { return is<std::shared_ptr<Dict>>(); }
  bool is_function() const { return is<std::shared_ptr<Function>>(); }
  bool is_number() const { return is<int64_t>() || is<double>() || is<bool>(); }
  bool is_undefined() const { return is<Undefined>(); }
  const std::string& str() const { return std::get<std::string>(v_); }
  List& list() const { return *std::get<std::shared_ptr<List>>(v_); }
  Dict& dict() const { return *std::get<std::shared_ptr<Dict>>(v_); }
  const Function& function() const { return *std::get<std::shared_ptr<Function>>(v_); }
  const Undefined& undefined() const { return std::get<Undefined>(v_); }

  bool truthy() const;
  int64_t as_int(const char* what) const;  // bool and int; throws Error otherwise
  double as_double(const char* what) const;
  std::string print() const;  // what {{ x }} writes
  std::string repr() const;   // inside printed lists and dicts
  const char* type_name() const;
  const Value* find(const std::string& key) const;  // in a dict
  void set(const std::string& key, Value v) const;  // in a dict

 private:
  std::variant<Undefined, None, bool, int64_t, double, std::string, std::shared_ptr<List>, std::shared_ptr<Dict>,
               std::shared_ptr<Function>>
      v_;
};

struct Arguments {
  List positional;
  Dict named;
  const Value* get(size_t index, const char* name) const {
    if (index < positional.size()) return &positional[index];
    for (const auto& [k, v] : named)
      if (k == name) return &v;
    return nullptr;
  }
};

bool equal(const Value& a, const Value& b);
int compare(const Value& a, const Value& b);  // < 0, 0, > 0; throws Error on types that have no order
bool contains(const Value& container, const Value& item);
std::string dump_json(const Value& v, int64_t indent);  // as Python's json.dumps(ensure_ascii=False)

}  // namespace quern::text::jinja
