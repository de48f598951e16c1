// JSON Schema grammars: documents made at random must satisfy the schema, by a validator that knows nothing of
// grammars; what is not supported is refused by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "quern/base/error.h"
#include "quern/base/rng.h"
#include "quern/text/grammar/machine.h"
#include "quern/text/grammar/parse.h"
#include "quern/text/unicode/utf8.h"

namespace quern::text {
namespace {

bool valid(const Json& root, const Json& s, const Json& v);

bool has_type(const Json& v, const std::string& t) {
  return t == "object"    ? v.is_object()
         : t == "array"   ? v.is_array()
         : t == "string"  ? v.is_string()
         : t == "integer" ? v.is_int()
         : t == "number"  ? v.is_number()
         : t == "boolean" ? v.is_bool()
                          : v.is_null();
}

int64_t matches(const Json& root, const Json& list, const Json& v) {
  return std::count_if(list.as_array().begin(), list.as_array().end(),
                       [&](const Json& s) { return valid(root, s, v); });
}

bool valid_object(const Json& root, const Json& s, const Json& v) {
  const Json *properties = s.find("properties"), *more = s.find("additionalProperties");
  std::set<std::string> seen;
  for (const auto& [key, value] : v.as_object()) {
    seen.insert(key);
    const Json* p = properties ? properties->find(key) : nullptr;
    if (!p) p = more;
    if (p && !valid(root, *p, value)) return false;
  }
  if (const Json* required = s.find("required"))
    for (const Json& r : required->as_array())
      if (!seen.contains(r.as_string())) return false;
  return true;
}

bool valid(const Json& root, const Json& s, const Json& v) {
  if (s.is_bool()) return s.as_bool();
  if (const Json* ref = s.find("$ref")) {
    const std::string& at = ref->as_string();
    return valid(root, at == "#" ? root : root.at("$defs").at(at.substr(8)), v);
  }
  if (const Json* t = s.find("type"); t && t->is_string() && !has_type(v, t->as_string())) return false;
  if (const Json* t = s.find("type"); t && t->is_array())
    if (std::none_of(t->as_array().begin(), t->as_array().end(),
                     [&](const Json& one) { return has_type(v, one.as_string()); }))
      return false;
  if (const Json* c = s.find("const"); c && !(*c == v)) return false;
  if (const Json* e = s.find("enum"))
    if (std::find(e->as_array().begin(), e->as_array().end(), v) == e->as_array().end()) return false;
  if (const Json* l = s.find("anyOf"); l && matches(root, *l, v) < 1) return false;
  if (const Json* l = s.find("oneOf"); l && matches(root, *l, v) != 1) return false;
  if (const Json* l = s.find("allOf"); l && matches(root, *l, v) != static_cast<int64_t>(l->as_array().size()))
    return false;
  auto within = [&](const char* low, const char* high, int64_t n) {
    return (!s.find(low) || n >= s.find(low)->as_int()) && (!s.find(high) || n <= s.find(high)->as_int());
  };
  if (v.is_int() && !within("minimum", "maximum", v.as_int())) return false;
  if (v.is_int() && s.find("exclusiveMinimum") && v.as_int() <= s.find("exclusiveMinimum")->as_int()) return false;
  if (v.is_string()) {
    const std::string& t = v.as_string();
    if (!within("minLength", "maxLength", static_cast<int64_t>(utf8_length(t)))) return false;
    if (const Json* p = s.find("pattern"); p && t.size() < 500 && !std::regex_search(t, std::regex(p->as_string())))
      return false;
  }
  if (v.is_array()) {
    if (!within("minItems", "maxItems", static_cast<int64_t>(v.as_array().size()))) return false;
    if (const Json* items = s.find("items"))
      for (const Json& i : v.as_array())
        if (!valid(root, *items, i)) return false;
  }
  return !v.is_object() || valid_object(root, s, v);
}

std::shared_ptr<const TokenTrie> no_tokens() {
  static const auto trie = std::make_shared<const TokenTrie>(Tokenizer::from_json(
      R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "decoder": {"type": "Fuse"}})"));
  return trie;
}

std::string sample(GrammarMachine& m, Rng& rng) {
  std::string text;
  for (GrammarMachine::State s = m.start(); text.size() < 20000 && !m.must_end(s);) {
    if (m.may_end(s) && rng.below(3) == 0) break;
    std::string next, closing;
    for (int b = 0; b < 256; ++b) {
      if (m.step(s, static_cast<unsigned char>(b)) == GrammarMachine::kDead) continue;
      next += static_cast<char>(b);
      if (std::string_view("\"]}").find(static_cast<char>(b)) != std::string_view::npos) closing += next.back();
    }
    if (next.empty()) return "(stuck) " + text;
    const std::string& from = !closing.empty() && rng.below(3) == 0 ? closing : next;
    text += from[rng.below(from.size())];
    s = m.step(s, static_cast<unsigned char>(text.back()));
  }
  return text;
}

constexpr const char* kSchemas[] = {
    "true",
    R"({"type": "object"})",
    R"({"type": "integer"})",
    R"({"type": ["number", "null", "boolean"]})",
    R"({"enum": ["a\"b", 3, null, {"k": [1, "é"]}]})",
    R"({"type": "string", "enum": ["x", 3, "y"]})",
    R"({"type": "integer", "minimum": -27, "maximum": 1034})",
    R"({"type": "integer", "exclusiveMinimum": 17})",
    R"({"type": "integer", "maximum": -100})",
    R"({"type": "string", "minLength": 2, "maxLength": 5})",
    R"({"type": "string", "pattern": "^[A-Z]{2}-\\d+$"})",
    R"({"type": "string", "pattern": "a\"b|\\\\"})",
    R"({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4})",
    R"({"type": "array", "maxItems": 1})",
    R"({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"const": "x"}, "c": {"type": "null"}},
        "required": ["b"], "additionalProperties": false})",
    R"({"type": "object", "properties": {"ab": {"type": "integer"}, "a": {"type": "null"}, "é\"": {"type": "null"}},
        "additionalProperties": {"type": "string"}})",
    R"({"properties": {"n": {"type": "number"}}, "required": ["n", "other"]})",
    R"({"type": "object", "properties": {"value": {"type": "integer"}, "next": {"anyOf": [{"$ref": "#"},
        {"type": "null"}]}}, "required": ["value", "next"], "additionalProperties": false})",
    R"({"$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2}}, "$ref": "#/$defs/tree"})",
    R"({"allOf": [{"properties": {"a": {"type": "null"}}, "required": ["a"]}, {"properties": {"b": {"type":
        "boolean"}}, "required": ["b"]}], "type": "object"})",
    R"({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "anyOf": [{"properties":
        {"x": {"type": "null"}}, "required": ["x"]}, {"properties": {"y": {"type": "null"}}, "required": ["y"]}]})",
    R"({"oneOf": [{"type": "object", "properties": {"kind": {"const": "cat"}, "n": {"type": "integer"}}, "required":
        ["kind"]}, {"type": "object", "properties": {"kind": {"enum": ["dog", "fox"]}}, "required": ["kind"]},
        {"type": "string", "maxLength": 3}]})",
};

TEST(JsonSchemaGrammar, MakesValidDocumentsOnly) {
  Rng rng(11);
  for (const char* text : kSchemas) {
    const Json schema = Json::parse(text);
    GrammarMachine m(std::make_shared<const Grammar>(parse_json_schema(schema)), no_tokens());
    std::set<std::string> different;
    for (int i = 0; i < 60; ++i) {
      const std::string made = sample(m, rng);
      if (made.size() >= 20000) continue;
      Json v;
      ASSERT_NO_THROW(v = Json::parse(made)) << text << "\n  made " << made;
      ASSERT_TRUE(valid(schema, schema, v)) << text << "\n  made " << made;
      different.insert(v.dump());
    }
    EXPECT_GE(different.size(), 2u) << text;
  }
}

TEST(JsonSchemaGrammar, AcceptsWhatPeopleWrite) {
  auto accepts = [](const char* schema, const char* text) {
    GrammarMachine m(std::make_shared<const Grammar>(parse_json_schema(Json::parse(schema))), no_tokens());
    const GrammarMachine::State s = m.read(m.start(), text);
    return s != GrammarMachine::kDead && m.may_end(s);
  };
  EXPECT_TRUE(accepts("true", "{\n  \"a\": [1, -2.5e+10, \"\\u00e9\\n\"],\n  \"b\": {}, \"c\": []\n}"));
  EXPECT_FALSE(accepts("true", "{\"a\": \"\\ud800\"}")) << "half a surrogate pair";
  EXPECT_FALSE(accepts("true", "{\"a\": 01}"));
  const char* closed = R"({"type": "object", "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 120}},
    "additionalProperties": false})";
  for (int n = 0; n <= 130; ++n) EXPECT_EQ(accepts(closed, fmt::format("{{\"a\":{}}}", n).c_str()), n <= 120) << n;
  EXPECT_TRUE(accepts(closed, "{}"));
  EXPECT_FALSE(accepts(closed, "{\"b\": 1}"));
  const char* dated = R"({"type": "string", "format": "date"})";
  EXPECT_TRUE(accepts(dated, "\"2024-10-31\""));
  EXPECT_FALSE(accepts(dated, "\"2024-02-30\""));
}

TEST(JsonSchemaGrammar, RefusesByName) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {R"({"type": "object", "patternProperties": {}})", "patternProperties"},
      {R"({"properties": {"a": {"type": "array", "uniqueItems": true}}})", "#/properties/a: the keyword uniqueItems"},
      {R"({"type": "number", "minimum": 1})", "minimum is supported for integers"},
      {R"({"type": "integer", "multipleOf": 3})", "multipleOf"},
      {R"({"type": "strin"})", "type: \"strin\""},
      {R"({"type": "string", "format": "email"})", "\"email\""},
      {R"({"type": "string", "pattern": "(?=b)c"})", "column 2"},
      {R"({"type": "integer", "minimum": 5, "maximum": 4})", "from 5 to 4"},
      {R"({"not": {}})", "not"},
      {R"({"if": {}})", "if"},
      {R"({"$ref": "http://x/y"})", "$ref"},
      {R"({"$ref": "#/$defs/none"})", "leads nowhere"},
      {R"({"$ref": "#"})", "circle"},
      {R"({"anyOf": []})", "anyOf"},
      {R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", "oneOf: branches 0 and 1"},
      {R"({"enum": []})", "enum allows nothing"},
      {R"({"type": "array", "minItems": 3, "maxItems": 2})", "maxItems"},
      {R"({"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]})", "can never end"},
      {R"({"allOf": [{"$ref": "#"}]})", "inside one another"},
      {R"({"type": "string", "maxLength": 1000000})", "65536"},
      {R"(3)", "expected a schema"}};
  for (const auto& [text, what] : cases) {
    std::string said = "(accepted)";
    try {
      parse_json_schema(Json::parse(text));
    } catch (const Error& e) {
      said = e.what();
    }
    EXPECT_NE(said.find(what), said.npos) << text << "\n  said " << said;
    EXPECT_TRUE(said.starts_with("JSON schema")) << said;
  }
}

}  // namespace
}  // namespace quern::text
