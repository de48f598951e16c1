#include "quern/base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "quern/base/error.h"
#include "quern/base/mmap.h"

namespace quern {
namespace {

using Raw = nlohmann::ordered_json;
constexpr int kMaxDepth = 128;

const char* kind(const Json& j) {
  if (j.is_null()) return "null";
  if (j.is_bool()) return "a boolean";
  if (j.is_number()) return "a number";
  if (j.is_string()) return "a string";
  return j.is_array() ? "an array" : "an object";
}

// A token as the parser names it, in words for people.
std::string token_name(std::string_view name) {
  if (name == "end of input") return "the end of the text";
  if (name == "string literal") return "a string";
  if (name == "number literal") return "a number";
  if (name.ends_with(" literal")) name.remove_suffix(8);
  return std::string(name);
}

std::string expected_name(std::string_view name) {
  if (name.empty() || name == "'[', '{', or a literal") return "a value";
  if (name == "']'" || name == "'}'") return fmt::format("',' or {}", name);
  if (name == "string literal") return "a string in double quotes";
  return token_name(name);
}

// "expected ':', found '}'" from what the parser says, one of
//   [json.exception.…] parse error at …: syntax error while parsing object - unexpected '}'; expected ':'
//   [json.exception.…] parse error at …: syntax error while parsing value - invalid string: …; last read: '"abc'
//   [json.exception.…] number overflow parsing '1e999'
std::string what_is_wrong(std::string_view what) {
  constexpr std::string_view kUnexpected = "unexpected ", kExpected = "; expected ", kRead = "; last read: '";
  const size_t dash = what.find(" - ");
  if (dash == what.npos) return what.find("number overflow") == what.npos ? "malformed" : "the number is too large";
  what.remove_prefix(dash + 3);
  const size_t read = what.find(kRead), tail = what.rfind(kExpected);
  const bool is_unexpected = what.starts_with(kUnexpected);
  const bool names_expected = tail != what.npos && (is_unexpected || (read != what.npos && tail > read));
  const std::string expected = expected_name(names_expected ? what.substr(tail + kExpected.size()) : "");
  if (!is_unexpected) {
    what = what.substr(0, read);
    return what == "invalid literal" ? fmt::format("expected {}", expected) : std::string(what);
  }
  what = what.substr(kUnexpected.size(), names_expected ? tail - kUnexpected.size() : what.npos);
  return fmt::format("expected {}, found {}", expected, token_name(what));
}

// "byte 7 (line 2, column 3): expected ':', found '}'"; all are counted from 1.
std::string syntax_error(std::string_view text, size_t at, std::string_view what) {
  // Of no text at all, versions of the parser say different things.
  if (text.empty()) return "byte 1 (line 1, column 1): expected a value, found the end of the text";
  const std::string_view before = text.substr(0, at);
  const auto lines = std::ranges::count(before, '\n');
  const size_t line_break = before.rfind('\n'), start = line_break == before.npos ? 0 : line_break + 1;
  return fmt::format("byte {} (line {}, column {}): {}", at, lines + 1, at - start, what_is_wrong(what));
}

// Builds our value straight from the parser's events: no second tree, and the depth is bounded here.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(std::string_view text) : text_(text) {}
  Json root;
  std::string error;
  bool null() override { return put(Json()); }
  bool boolean(bool b) override { return put(Json(b)); }
  bool number_integer(number_integer_t n) override { return put(Json(int64_t{n})); }
  bool number_unsigned(number_unsigned_t n) override {
    return n <= static_cast<uint64_t>(INT64_MAX) ? put(Json(static_cast<int64_t>(n)))
                                                 : put(Json(static_cast<double>(n)));
  }
  bool number_float(number_float_t d, const string_t&) override { return put(Json(double{d})); }
  bool string(string_t& s) override { return put(Json(std::move(s))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool key(string_t& k) override {
    keys_.back() = std::move(k);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t at, const std::string&, const nlohmann::detail::exception& e) override {
    error = syntax_error(text_, at, e.what());
    return false;
  }

 private:
  bool put(Json v) {
    if (stack_.empty()) {
      root = std::move(v);
    } else if (stack_.back().is_array()) {
      stack_.back().items().push_back(std::move(v));
    } else {
      stack_.back().members().emplace_back(std::move(keys_.back()), std::move(v));
    }
    return true;
  }
  bool open(Json v) {
    if (stack_.size() >= kMaxDepth) {
      error = fmt::format("nested deeper than {}", kMaxDepth);
      return false;
    }
    stack_.push_back(std::move(v));
    keys_.emplace_back();
    return true;
  }
  bool close() {
    Json v = std::move(stack_.back());
    stack_.pop_back();
    keys_.pop_back();
    return put(std::move(v));
  }
  std::string_view text_;
  std::vector<Json> stack_;
  std::vector<std::string> keys_;
};

Raw to_raw(const Json& j) {
  if (j.is_null()) return nullptr;
  if (j.is_bool()) return j.as_bool();
  if (j.is_int()) return j.as_int();
  if (j.is_number()) return j.as_double();
  if (j.is_string()) return j.as_string();
  if (j.is_array()) {
    Raw a = Raw::array();
    for (const Json& x : j.as_array()) a.push_back(to_raw(x));
    return a;
  }
  Raw o = Raw::object();
  for (const auto& [k, x] : j.as_object()) o[k] = to_raw(x);
  return o;
}

}  // namespace

Json Json::parse(std::string_view text, std::string_view where) {
  Builder b(text);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &b)) fail("{}: not valid JSON: {}", where, b.error);
  return std::move(b.root);
}

Json Json::read(const std::filesystem::path& file) { return parse(read_file(file), file.string()); }

std::string Json::dump(int indent) const {
  return to_raw(*this).dump(indent, ' ', false, Raw::error_handler_t::replace);
}

bool Json::as_bool(std::string_view what) const {
  if (!is_bool()) fail("{}: expected true or false, found {}", what, kind(*this));
  return std::get<bool>(v_);
}
int64_t Json::as_int(std::string_view what) const {
  if (is_int()) return std::get<int64_t>(v_);
  if (is_number()) {
    double d = std::get<double>(v_);
    if (d >= -9.0e15 && d <= 9.0e15 && d == static_cast<double>(static_cast<int64_t>(d)))
      return static_cast<int64_t>(d);
    fail("{}: expected an integer, found {}", what, d);
  }
  fail("{}: expected an integer, found {}", what, kind(*this));
}
double Json::as_double(std::string_view what) const {
  if (is_int()) return static_cast<double>(std::get<int64_t>(v_));
  if (!is_number()) fail("{}: expected a number, found {}", what, kind(*this));
  return std::get<double>(v_);
}
const std::string& Json::as_string(std::string_view what) const {
  if (!is_string()) fail("{}: expected a string, found {}", what, kind(*this));
  return std::get<std::string>(v_);
}
const Json::Array& Json::as_array(std::string_view what) const {
  if (!is_array()) fail("{}: expected an array, found {}", what, kind(*this));
  return std::get<Array>(v_);
}
const Json::Object& Json::as_object(std::string_view what) const {
  if (!is_object()) fail("{}: expected an object, found {}", what, kind(*this));
  return std::get<Object>(v_);
}
Json::Array& Json::items() { return std::get<Array>(v_); }
Json::Object& Json::members() { return std::get<Object>(v_); }

const Json* Json::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  for (const auto& [k, v] : std::get<Object>(v_))
    if (k == key) return &v;
  return nullptr;
}
const Json& Json::at(std::string_view key, std::string_view what) const {
  const Json* v = find(key);
  if (!v) fail("{}: field '{}' is missing", what, key);
  return *v;
}
void Json::set(std::string_view key, Json value) {
  if (is_null()) v_ = Object{};
  for (auto& [k, v] : members())
    if (k == key) {
      v = std::move(value);
      return;
    }
  members().emplace_back(std::string(key), std::move(value));
}
void Json::erase(std::string_view key) {
  std::erase_if(members(), [&](const auto& kv) { return kv.first == key; });
}
void Json::push(Json value) {
  if (is_null()) v_ = Array{};
  items().push_back(std::move(value));
}

}  // namespace quern
