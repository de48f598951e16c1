// ZAYA: <zyphra_tool_call>\n<function=NAME>\n<parameter=P>\nVALUE\n</parameter>\n…</function>\n</zyphra_tool_call>;
// Qwen's coder models write the same inside <tool_call>. A value is text if the schema says string, otherwise JSON (or
// text, if it is not valid JSON). Arguments are returned as the text of the equivalent JSON object, also while
// streaming.
#include <algorithm>
#include <set>

#include "quern/base/error.h"
#include "quern/serve/tools/tool_format.h"
#include "quern/text/grammar/parse.h"

namespace quern::serve {
namespace {

constexpr std::string_view kFunction = "<function=", kParameter = "<parameter=", kValueEnd = "</parameter>",
                           kFunctionEnd = "</function>";

enum class ParameterType { text, other, unknown };

ParameterType kind_of(const Tool& tool, const std::string& parameter) {
  const Json* properties = tool.parameters.find("properties");
  const Json* schema = properties ? properties->find(parameter) : nullptr;
  const Json* type = schema ? schema->find("type") : nullptr;
  if (!type) return ParameterType::unknown;
  return *type == Json("string") ? ParameterType::text : ParameterType::other;
}

std::string value_json(const std::string& text, ParameterType kind) {
  if (kind != ParameterType::text) {
    try {
      return Json::parse(text).dump();
    } catch (const Error&) {
    }
  }
  return Json(text).dump();
}

class Xml : public ToolFormat {
 public:
  Xml(std::string name, const std::string& tag)
      : name_(std::move(name)), open_("<" + tag + ">"), close_("</" + tag + ">") {}
  std::string name() const override { return name_; }
  bool taught_by(std::string_view source) const override {
    return source.find(open_) != source.npos && source.find(kFunction) != source.npos;
  }
  std::vector<std::string> marks() const override { return {open_, close_}; }
  CallStart find(std::string_view text, TextBefore /*before*/) const override { return find_tag(text, open_); }

  CallRead read(std::string_view text, const ToolUse& use, CallText state) const override {
    Reader r{.text = text, .at = open_.size()};
    CallRead out;
    const State s = body(r, use, out);
    out.state = s == State::more ? CallRead::State::open : CallRead::State::whole;
    if (s == State::bad || (s == State::more && state == CallText::ended))
      return CallRead::bad(r.problem.empty() ? "the answer ended inside a call" : r.problem);
    out.end = r.at;
    return out;
  }

  text::GrammarItem call(text::GrammarBuilder& b, const Tool& tool) const override {
    text::GrammarBuilder::Sequence all = {b.literal(fmt::format("{}\n{}{}>\n", open_, kFunction, tool.name))};
    const Json* properties = tool.parameters.find("properties");
    const Json* required = tool.parameters.find("required");
    if (properties)
      for (const auto& [key, schema] : properties->as_object("properties")) {
        // Text up to the closing tag: whatever does not begin "</p".
        const text::GrammarItem value =
            kind_of(tool, key) == ParameterType::text && !schema.find("enum") && !schema.find("const")
                ? text::regex_item(b, "([^<]|<+[^</]|<+/[^<p])*", {})
                : text_value(b, schema);
        const text::GrammarItem one = b.sequence(
            {b.literal(fmt::format("{}{}>\n", kParameter, key)), value, b.literal(fmt::format("\n{}\n", kValueEnd))});
        const bool needed = required && std::any_of(required->as_array().begin(), required->as_array().end(),
                                                    [&](const Json& r) { return r == Json(key); });
        all.push_back(needed ? one : b.repeat(one, 0, 1));
      }
    all.push_back(b.literal(fmt::format("{}\n{}", kFunctionEnd, close_)));
    return b.sequence(std::move(all));
  }

 private:
  enum class State { more, done, bad };
  struct Reader {
    std::string_view text;
    size_t at = 0;
    std::string problem = {};
    // Blanks, then `word`: done and behind it, more when the text ends first, bad when something else stands there.
    State expect(std::string_view word) {
      const size_t from = skip_blanks(text, at);
      const std::string_view rest = text.substr(from);
      if (rest.starts_with(word)) {
        at = from + word.size();
        return State::done;
      }
      return word.starts_with(rest) ? State::more : State::bad;
    }
  };

  // The strings a schema names stand bare, without quotes.
  static text::GrammarItem text_value(text::GrammarBuilder& b, const Json& schema) {
    std::vector<text::GrammarBuilder::Sequence> bare;
    auto add = [&](const Json& v) {
      if (v.is_string()) bare.push_back({b.literal(v.as_string())});
    };
    if (const Json* e = schema.find("enum"); e && e->is_array())
      for (const Json& v : e->as_array()) add(v);
    if (const Json* c = schema.find("const")) add(*c);
    return bare.empty() ? text::schema_item(b, schema) : b.choice(std::move(bare));
  }

  static State bad(Reader& r, std::string why) {
    r.problem = std::move(why);
    return State::bad;
  }

  State body(Reader& r, const ToolUse& use, CallRead& out) const {
    if (State s = r.expect(kFunction); s != State::done)
      return s == State::more ? s : bad(r, "the call does not begin with <function=…>");
    const size_t end = r.text.find('>', r.at);
    if (end == r.text.npos) return State::more;
    const std::string called(r.text.substr(r.at, end - r.at));
    const Tool* tool = use.find(called);
    if (!tool) return bad(r, unknown_tool(called, use));
    out.name = called, out.arguments = "{", r.at = end + 1;
    std::set<std::string> seen;
    for (;;) {
      const State closes = r.expect(kFunctionEnd);
      if (closes == State::done) break;
      const State opens = r.expect(kParameter);
      if (opens == State::bad)
        return closes == State::more ? State::more : bad(r, "expected <parameter=…> or </function> in the call");
      if (opens == State::more) return State::more;
      if (State s = parameter(r, *tool, seen, out.arguments); s != State::done) return s;
    }
    const State s = r.expect(close_);
    if (s == State::bad) return bad(r, fmt::format("the call is not closed by {}", close_));
    if (s == State::done) out.arguments += "}";
    return s;
  }

  static State parameter(Reader& r, const Tool& tool, std::set<std::string>& seen, std::string& arguments) {
    const size_t name_end = r.text.find('>', r.at);
    if (name_end == r.text.npos) return State::more;
    const std::string key(r.text.substr(r.at, name_end - r.at));
    std::string_view value = r.text.substr(name_end + 1);
    if (value.starts_with('\n')) value.remove_prefix(1);
    const ParameterType kind = kind_of(tool, key);
    const std::string label = (seen.empty() ? "" : ", ") + Json(key).dump() + ": ";
    if (!seen.insert(key).second) return bad(r, fmt::format("the call gives '{}' twice", key));
    const size_t end = value.find(kValueEnd);
    if (end == value.npos) {
      if (kind != ParameterType::text) return State::more;
      // All but what may be the closing tag and the line's end before it.
      std::string_view sure = value.substr(0, value.size() - tag_overlap(value, kValueEnd));
      if (sure.ends_with('\n')) sure.remove_suffix(1);
      std::string quoted = Json(sure).dump();
      quoted.pop_back();
      arguments += label + quoted;
      return State::more;
    }
    r.at = static_cast<size_t>(value.data() - r.text.data()) + end + kValueEnd.size();
    std::string_view whole = value.substr(0, end);
    if (whole.ends_with('\n')) whole.remove_suffix(1);
    arguments += label + value_json(std::string(whole), kind);
    return State::done;
  }

  std::string name_, open_, close_;
};

}  // namespace

const ToolFormat& zaya_format() {
  static const Xml f("zaya", "zyphra_tool_call");
  return f;
}

const ToolFormat& qwen_coder_format() {
  static const Xml f("qwen-coder", "tool_call");
  return f;
}

}  // namespace quern::serve
