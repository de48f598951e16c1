// JSON Schema as a grammar of the documents that satisfy it: a subset of them (properties in order, little white
// space), never one that does not.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "quern/base/error.h"
#include "quern/text/grammar/json.h"
#include "quern/text/grammar/parse.h"

namespace quern::text {
namespace {

using Sequence = GrammarBuilder::Sequence;
using Words = std::vector<std::string_view>;

const Words kTypes = {"object", "array", "string", "integer", "number", "boolean", "null"};
const Words kNotes = {"title",      "description", "default",   "examples", "$schema",     "$id",    "$comment",
                      "deprecated", "readOnly",    "writeOnly", "$defs",    "definitions", "$anchor"};
const std::map<std::string_view, Words> kKeywords = {
    {"object", {"properties", "required", "additionalProperties"}},
    {"array", {"items", "minItems", "maxItems"}},
    {"string", {"pattern", "format", "minLength", "maxLength"}},
    {"integer", {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}},
    {"number", {}},
    {"boolean", {}},
    {"null", {}}};

bool in(const Words& words, std::string_view w) { return std::find(words.begin(), words.end(), w) != words.end(); }

bool is_type(const Json& v, std::string_view type) {
  if (type == "object") return v.is_object();
  if (type == "array") return v.is_array();
  if (type == "string") return v.is_string();
  if (type == "integer") return v.is_int();
  if (type == "number") return v.is_number();
  if (type == "boolean") return v.is_bool();
  return v.is_null();
}

class Schema {
 public:
  Schema(const Json& root, GrammarBuilder& b) : root_(root), b_(b), json_(b) {}
  GrammarItem item() {
    try {
      return value(root_, "#");
    } catch (const Error& e) {
      const std::string what = e.what();
      if (what.starts_with("JSON schema")) throw;
      fail("JSON schema: {}", what);
    }
  }

 private:
  template <class... A>
  [[noreturn]] static void refuse(const std::string& path, fmt::format_string<A...> f, A&&... a) {
    fail("JSON schema at {}: {}", path, fmt::format(f, std::forward<A>(a)...));
  }

  static bool notes_only(const Json& s, const Words& but) {
    return std::all_of(s.as_object().begin(), s.as_object().end(),
                       [&](const auto& m) { return in(kNotes, m.first) || in(but, m.first); });
  }

  const Json& pointed(const Json& ref, const std::string& path) const {
    if (!ref.is_string() || !ref.as_string().starts_with("#"))
      refuse(path, "$ref: only references inside the schema (\"#/…\") are supported");
    const Json* at = &root_;
    const std::string& text = ref.as_string();
    for (size_t from = 1; from < text.size();) {
      const size_t end = std::min(text.find('/', from + 1), text.size());
      std::string key = text.substr(from + 1, end - from - 1);
      for (size_t k = 0; (k = key.find('~', k)) != key.npos; ++k)
        if (key.compare(k, 2, "~1") == 0 || key.compare(k, 2, "~0") == 0)
          key.replace(k, 2, key[k + 1] == '1' ? "/" : "~");
      at = text[from] == '/' ? at->find(key) : nullptr;
      if (!at) refuse(path, "$ref \"{}\" leads nowhere", text);
      from = end;
    }
    return *at;
  }

  // The schema behind references that stand alone.
  const Json& resolved(const Json& s, const std::string& path) const {
    const Json* at = &s;
    for (int hops = 0; at->is_object() && at->find("$ref"); ++hops) {
      if (hops > 64) refuse(path, "$ref leads in a circle");
      if (!notes_only(*at, {"$ref"})) refuse(path, "other assertions next to $ref are not supported");
      at = &pointed(*at->find("$ref"), path);
    }
    return *at;
  }

  GrammarItem value(const Json& s, const std::string& path) {
    if (s.is_bool()) {
      if (!s.as_bool()) refuse(path, "false allows nothing");
      return json_.any();
    }
    if (!s.is_object()) refuse(path, "expected a schema: an object, true or false");
    const Json& target = resolved(s, path);
    if (target.is_bool()) return value(target, path);
    // One rule per schema object: what refers to it again, itself included, calls the rule.
    const auto known = rules_.find(&target);
    if (known != rules_.end()) return known->second;
    const GrammarItem rule = b_.declare(path);
    rules_.emplace(&target, rule);
    b_.define(rule, choices(target, path));
    return rule;
  }

  std::vector<Sequence> choices(const Json& s, const std::string& path) {
    for (const char* key : {"anyOf", "oneOf", "allOf"})
      if (const Json* list = s.find(key)) return combined(s, key, *list, path);
    if (s.find("enum") || s.find("const")) return listed(s, path);
    const Words types = types_of(s, path);
    for (const auto& [key, ignored] : s.as_object()) check_keyword(s, key, types, path);
    std::vector<Sequence> all;
    for (std::string_view t : types) all.push_back({typed(s, t, path)});
    return all;
  }

  Words types_of(const Json& s, const std::string& path) const {
    Words types;
    auto add = [&](const Json& t) {
      if (!t.is_string() || !in(kTypes, t.as_string())) refuse(path, "type: {} is no type", t.dump());
      types.push_back(*std::find(kTypes.begin(), kTypes.end(), t.as_string()));
    };
    if (const Json* t = s.find("type"); t && t->is_array())
      for (const Json& one : t->as_array()) add(one);
    else if (t)
      add(*t);
    if (s.find("type") && types.empty()) refuse(path, "type: an empty list allows nothing");
    if (!types.empty()) return types;
    for (const auto& [type, words] : kKeywords)  // keywords of one type alone say which it is
      for (std::string_view w : words)
        if (s.find(w) && !in(types, type)) types.push_back(type);
    if (types.size() > 1) refuse(path, "type is missing, and the keywords belong to several types");
    return types.empty() ? Words{"object", "array", "string", "number", "boolean", "null"} : types;
  }

  void check_keyword(const Json& s, const std::string& key, const Words& types, const std::string& path) const {
    if (key == "type" || in(kNotes, key)) return;
    if (key == "uniqueItems" && s.find(key)->is_bool() && !s.find(key)->as_bool()) return;
    for (std::string_view t : types)
      if (in(kKeywords.at(t), key)) {
        if (t == "integer" && in(types, "number")) break;
        return;
      }
    if (in(types, "number") && in(kKeywords.at("integer"), key))
      refuse(path, "{} is supported for integers, not for numbers", key);
    refuse(path, "the keyword {} is not supported{}", key, in(types, "object") ? "" : " for this type");
  }

  std::vector<Sequence> listed(const Json& s, const std::string& path) {
    if (!notes_only(s, {"enum", "const", "type"}))
      refuse(path, "enum and const cannot be combined with other assertions than type");
    const Json *e = s.find("enum"), *c = s.find("const");
    if (e && !e->is_array()) refuse(path, "enum: expected a list");
    const Words types = s.find("type") ? types_of(s, path) : Words{};
    std::vector<Sequence> all;
    auto add = [&](const Json& v) {
      const bool fits =
          types.empty() || std::any_of(types.begin(), types.end(), [&](std::string_view t) { return is_type(v, t); });
      if (fits) all.push_back({b_.literal(v.dump())});
    };
    if (e)
      for (const Json& v : e->as_array())
        if (!c || *c == v) add(v);
    if (c && !e) add(*c);
    if (all.empty()) refuse(path, "{} allows nothing", e ? "enum" : "const");
    return all;
  }

  // anyOf: any branch. oneOf: the same, if no document can satisfy two. allOf: merged. Assertions beside them are
  // merged into every branch.
  std::vector<Sequence> combined(const Json& s, const std::string& key, const Json& list, const std::string& path) {
    if (!list.is_array() || list.as_array().empty()) refuse(path, "{}: expected a list of schemas", key);
    if (++nested_ > 256) refuse(path, "more than 256 combinations inside one another");
    Json rest = s;
    rest.erase(key);
    const bool bare = notes_only(rest, {});
    std::vector<Sequence> all;
    const Json::Array& branches = list.as_array();
    if (key == "allOf") {
      for (size_t i = 0; i < branches.size(); ++i)
        rest = merged(rest, resolved(branches[i], path), fmt::format("{}/allOf/{}", path, i));
      const Json& made = own_.emplace_back(std::make_unique<Json>(std::move(rest))).operator*();
      all = choices(made, path);
    } else {
      for (size_t i = 0; i < branches.size(); ++i) {
        const std::string at = fmt::format("{}/{}/{}", path, key, i);
        for (size_t k = 0; key == "oneOf" && k < i; ++k)
          if (!apart(resolved(branches[i], at), resolved(branches[k], at), at))
            refuse(path,
                   "oneOf: branches {} and {} are not plainly different (by type, or by a required property "
                   "with another const or enum); write anyOf",
                   k, i);
        if (bare) {
          all.push_back({value(branches[i], at)});
        } else {
          const Json& branch = resolved(branches[i], at);
          all.push_back({value(*own_.emplace_back(std::make_unique<Json>(merged(rest, branch, at))), at)});
        }
      }
    }
    --nested_;
    return all;
  }

  Json merged(const Json& a, const Json& b, const std::string& path) const {
    if (!b.is_object()) refuse(path, "expected a schema object");
    const bool closed = a.find("additionalProperties") || b.find("additionalProperties");
    if (closed && a.find("properties") && b.find("properties"))
      refuse(path, "additionalProperties cannot be combined with the properties of another branch");
    Json out = a;
    for (const auto& [key, v] : b.as_object()) {
      const Json* there = out.find(key);
      if (in(kNotes, key)) continue;
      if (!there || *there == v) {
        out.set(key, v);
      } else if (key == "properties" && there->is_object() && v.is_object()) {
        Json both = *there;
        for (const auto& [name, p] : v.as_object()) {
          const Json* same = both.find(name);
          if (same && !(*same == p)) refuse(path, "property \"{}\" is described twice, differently", name);
          both.set(name, p);
        }
        out.set(key, both);
      } else if (key == "required" && there->is_array() && v.is_array()) {
        Json both = *there;
        for (const Json& r : v.as_array()) both.push(r);
        out.set(key, both);
      } else {
        refuse(path, "{} is given twice, differently", key);
      }
    }
    return out;
  }

  // No document satisfies both: other types, or a required property with other constants.
  bool apart(const Json& a, const Json& b, const std::string& path) const {
    auto values = [](const Json& s) -> Json::Array {
      if (const Json* c = s.find("const")) return {*c};
      if (const Json* e = s.find("enum"); e && e->is_array()) return e->as_array();
      return {};
    };
    if (!a.is_object() || !b.is_object()) return false;
    const Json::Array va = values(a), vb = values(b);
    if (!va.empty() && !vb.empty())
      return std::none_of(va.begin(), va.end(),
                          [&](const Json& v) { return std::find(vb.begin(), vb.end(), v) != vb.end(); });
    auto types = [&](const Json& s, const Json::Array& given) {
      Words t;
      for (const Json& v : given)
        for (std::string_view type : kTypes)
          if (is_type(v, type)) t.push_back(type);
      if (!given.empty()) return t;
      for (const char* key : {"anyOf", "oneOf", "allOf"})
        if (s.find(key) && !s.find("type")) return kTypes;
      return types_of(s, path);
    };
    Words ta = types(a, va);
    const Words tb = types(b, vb);
    if (in(ta, "number")) ta.push_back("integer");
    if (in(ta, "integer")) ta.push_back("number");
    if (std::none_of(ta.begin(), ta.end(), [&](std::string_view t) { return in(tb, t); })) return true;
    const Json *pa = a.find("properties"), *pb = b.find("properties");
    if (!pa || !pb || !pa->is_object()) return false;
    auto required = [](const Json& s, const std::string& name) {
      const Json* r = s.find("required");
      return r && r->is_array() &&
             std::find(r->as_array().begin(), r->as_array().end(), Json(name)) != r->as_array().end();
    };
    for (const auto& [name, p] : pa->as_object()) {
      const Json* q = pb->find(name);
      if (!q || !required(a, name) || !required(b, name)) continue;
      const Json::Array x = values(p), y = values(*q);
      if (!x.empty() && !y.empty() && std::none_of(x.begin(), x.end(), [&](const Json& v) {
            return std::find(y.begin(), y.end(), v) != y.end();
          }))
        return true;
    }
    return false;
  }

  GrammarItem typed(const Json& s, std::string_view type, const std::string& path) {
    if (type == "object") return object(s, path);
    if (type == "array") return array(s, path);
    if (type == "string") return string(s, path);
    if (type == "integer") return integer(s, path);
    if (type == "number") return json_.number();
    if (type == "boolean") return b_.choice({{b_.literal("true")}, {b_.literal("false")}});
    return b_.literal("null");
  }

  static std::optional<int64_t> whole(const Json& s, const char* key, const std::string& path,
                                      bool negative = false) {
    const Json* v = s.find(key);
    if (!v) return std::nullopt;
    if (!v->is_int() || (!negative && v->as_int() < 0))
      refuse(path, "{}: expected a whole number, found {}", key, v->dump());
    return v->as_int();
  }

  GrammarItem array(const Json& s, const std::string& path) {
    const int64_t minimum = whole(s, "minItems", path).value_or(0), maximum = whole(s, "maxItems", path).value_or(-1);
    if (maximum >= 0 && maximum < minimum) refuse(path, "maxItems {} is less than minItems {}", maximum, minimum);
    const Json* items = s.find("items");
    const GrammarItem none = b_.literal("[]");
    if (maximum == 0) return none;
    const GrammarItem item = items ? value(*items, path + "/items") : json_.any();
    Sequence some = json_.opening('[');
    some.push_back(item);
    some.push_back(b_.repeat(b_.sequence({json_.comma(), item}), std::max<int64_t>(minimum - 1, 0),
                             maximum < 0 ? -1 : maximum - 1));
    some.push_back(json_.closing(']'));
    return minimum > 0 ? b_.sequence(some) : b_.choice({some, {none}});
  }

  GrammarItem string(const Json& s, const std::string& path) {
    const Json *pattern = s.find("pattern"), *format = s.find("format");
    const int64_t minimum = whole(s, "minLength", path).value_or(0),
                  maximum = whole(s, "maxLength", path).value_or(-1);
    const bool sized = s.find("minLength") || s.find("maxLength");
    if ((pattern != nullptr) + (format != nullptr) + sized > 1)
      refuse(path, "pattern, format and lengths cannot be combined");
    std::string text;
    if (format) {
      text = format->is_string() ? std::string(format_pattern(format->as_string())) : "";
      if (text.empty())
        refuse(path, "format {} is not supported (date, time, date-time, uuid and ipv4 are)", format->dump());
    }
    if (pattern && !pattern->is_string()) refuse(path, "pattern: expected a string");
    if (pattern) text = pattern->as_string();
    if (maximum >= 0 && maximum < minimum) refuse(path, "maxLength {} is less than minLength {}", maximum, minimum);
    if (!pattern && !format) return json_.quoted(b_.repeat(json_.character(), minimum, maximum));
    try {
      return json_.quoted(regex_item(b_, text, {.json_string = true, .search = true}));
    } catch (const Error& e) {
      refuse(path, "pattern: {}", e.what());
    }
  }

  GrammarItem integer(const Json& s, const std::string& path) {
    auto low = whole(s, "minimum", path, true), high = whole(s, "maximum", path, true);
    const auto above = whole(s, "exclusiveMinimum", path, true), below = whole(s, "exclusiveMaximum", path, true);
    constexpr int64_t kMax = 999'999'999'999'999;
    auto in_reach = [&](std::optional<int64_t> v) {
      if (v && std::abs(*v) > kMax) refuse(path, "bounds beyond ±{} are not supported", kMax);
    };
    in_reach(low), in_reach(high), in_reach(above), in_reach(below);
    if (above) low = std::max(low.value_or(*above + 1), *above + 1);
    if (below) high = std::min(high.value_or(*below - 1), *below - 1);
    if (!low && !high) return json_.integer();
    if (low.value_or(-kMax) > high.value_or(kMax)) refuse(path, "no integer lies from {} to {}", *low, *high);
    return json_.integer(low.value_or(-kMax), high.value_or(kMax));
  }

  GrammarItem object(const Json& s, const std::string& path) {
    static const Json kNone = Json::object();
    const Json* given = s.find("properties");
    const Json& properties = given ? *given : kNone;
    if (!properties.is_object()) refuse(path, "properties: expected an object");
    std::set<std::string> required, names;
    if (const Json* r = s.find("required")) {
      if (!r->is_array()) refuse(path, "required: expected a list of names");
      for (const Json& name : r->as_array()) {
        if (!name.is_string()) refuse(path, "required: expected a list of names");
        required.insert(name.as_string());
      }
    }
    for (const auto& [name, ignored] : properties.as_object()) names.insert(name);
    const Json* more = s.find("additionalProperties");
    const bool open = more ? !(more->is_bool() && !more->as_bool()) : !given;
    std::vector<std::pair<std::string, GrammarItem>> pairs;
    for (const auto& [name, p] : properties.as_object()) {
      if (p.is_bool() && !p.as_bool()) refuse(path + "/properties/" + name, "false allows nothing");
      pairs.emplace_back(name, value(p, path + "/properties/" + name));
    }
    const Json any(true);
    for (const std::string& name : required) {  // required and not described: whatever additional properties may be
      if (names.contains(name)) continue;
      if (more && !open) refuse(path, "required names \"{}\", which additionalProperties forbids", name);
      pairs.emplace_back(name, value(more ? *more : any, path + "/additionalProperties"));
      names.insert(name);
    }
    // The two lists of what may follow: behind a property (a comma first) and at the beginning.
    Sequence behind, at_first;
    if (open) {
      const GrammarItem v = value(more ? *more : any, path + "/additionalProperties");
      const GrammarItem pair = b_.sequence({json_.other_key(names), json_.colon(), v});
      const GrammarItem later = b_.repeat(b_.sequence({json_.comma(), pair}), 0, -1);
      behind = {later};
      at_first = {b_.choice({{pair, later}, {}})};
    }
    for (size_t i = pairs.size(); i-- > 0;) {
      const bool needed = required.contains(pairs[i].first);
      Sequence pair{b_.literal(Json(pairs[i].first).dump()), json_.colon(), pairs[i].second}, later{json_.comma()};
      pair = {b_.sequence(pair)};
      later.push_back(pair[0]);
      Sequence first = pair;
      first.insert(first.end(), behind.begin(), behind.end()),
          later.insert(later.end(), behind.begin(), behind.end());
      at_first = needed ? first : Sequence{b_.choice({first, at_first})};
      behind = needed ? Sequence{b_.sequence(later)} : Sequence{b_.choice({later, behind})};
    }
    Sequence all = json_.opening('{');
    all.insert(all.end(), at_first.begin(), at_first.end());
    all.push_back(json_.closing('}'));
    return b_.sequence(std::move(all));
  }

  const Json& root_;
  GrammarBuilder& b_;
  JsonGrammar json_;
  std::map<const Json*, GrammarItem> rules_;
  std::vector<std::unique_ptr<Json>> own_;
  int nested_ = 0;
};

}  // namespace

GrammarItem schema_item(GrammarBuilder& b, const Json& schema) { return Schema(schema, b).item(); }

Grammar parse_json_schema(const Json& schema) {
  GrammarBuilder b;
  try {
    return b.finish(schema_item(b, schema));
  } catch (const Error& e) {
    const std::string what = e.what();
    if (what.starts_with("JSON schema")) throw;
    fail("JSON schema: {}", what);
  }
}

}  // namespace quern::text
