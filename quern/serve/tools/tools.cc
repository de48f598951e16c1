// Reads tools, and the calls of earlier turns.
#include "quern/serve/tools/tools.h"

#include <algorithm>
#include <cctype>

#include "quern/base/nearest.h"
#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

constexpr size_t kMaxTools = 512;

bool good_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == ':';
  });
}

Tool read_tool(const Json& j, const std::string& where) {
  const Json* type = j.find("type");
  const Json* function = j.find("function");
  if (!type || *type != Json("function") || !function || !function->is_object())
    bad_field(where, "expected {{\"type\": \"function\", \"function\": {{…}}}}: this server has no built-in tools");
  const Fields f(*function);
  Tool t;
  t.name = f.text("name").value_or("");
  if (!good_name(t.name))
    bad_field(where + ".function.name", "'{}': expected 1 to 128 of the letters a-z, A-Z, 0-9, _ - . :", t.name);
  t.description = f.text("description").value_or(""), t.strict = f.boolean("strict").value_or(false);
  const Json* parameters = f.find("parameters");
  if (parameters && !parameters->is_object())
    bad_field(where + ".function.parameters", "expected a JSON Schema, an object");
  t.parameters = parameters ? *parameters : Json::parse(R"({"type": "object", "properties": {}})");
  if (!t.parameters.find("type")) t.parameters.set("type", "object");
  if (*t.parameters.find("type") != Json("object"))
    bad_field(where + ".function.parameters", "expected a schema of type object");
  return t;
}

constexpr const char* kChoices =
    "expected auto, none, required, {\"type\": \"function\", \"function\": {\"name\": …}}, or allowed_tools";

// {"type": "function", "function": {"name": …}}, of a choice or of a list of allowed tools.
std::string function_name(const Json& j, const std::string& where) {
  const Json* function = j.find("function");
  const Json* name = function ? function->find("name") : nullptr;
  if (!name || !name->is_string()) bad_field(where, "{}", kChoices);
  return name->as_string();
}

void allow(const std::string& name, const std::string& where, ToolUse& use) {
  std::vector<std::string> names;
  for (const Tool& t : use.tools) names.push_back(t.name);
  if (std::ranges::find(names, name) == names.end())
    bad_field(where, "'{}' is none of the tools{}", name, did_you_mean(name, names));
  use.allowed.push_back(name);
}

// {"mode": "auto" or "required", "tools": [{"type": "function", "function": {"name": …}}, …]}
void read_allowed(const Json& j, ToolUse& use) {
  const std::string where = "tool_choice.allowed_tools";
  const Json* list = j.find("tools");
  const std::string mode = Fields(j).text("mode").value_or("auto");
  if (mode != "auto" && mode != "required") bad_field(where + ".mode", "'{}': expected auto or required", mode);
  if (!list || !list->is_array() || list->as_array().empty())
    bad_field(where + ".tools", "expected a list of functions");
  for (const Json& t : list->as_array()) allow(function_name(t, where + ".tools"), where + ".tools", use);
  use.choice = mode == "required" ? ToolUse::Choice::required : ToolUse::Choice::automatic;
}

void read_choice(const Json& j, ToolUse& use) {
  if (j.is_string()) {
    const std::string& word = j.as_string();
    if (word == "none")
      use.choice = ToolUse::Choice::none;
    else if (word == "required")
      use.choice = ToolUse::Choice::required;
    else if (word != "auto")
      bad_field("tool_choice", "'{}': {}", word, kChoices);
    return;
  }
  if (const Json* allowed = j.find("allowed_tools")) return read_allowed(*allowed, use);
  use.choice = ToolUse::Choice::required;
  allow(function_name(j, "tool_choice"), "tool_choice", use);
}

}  // namespace

bool ToolUse::strict() const {
  return active() && std::ranges::any_of(tools, [](const Tool& t) { return t.strict; });
}

bool ToolUse::may_call(std::string_view name) const {
  return allowed.empty() || std::ranges::find(allowed, name) != allowed.end();
}

const Tool* ToolUse::find(std::string_view name) const {
  for (const Tool& t : tools)
    if (t.name == name && may_call(name)) return &t;
  return nullptr;
}

std::vector<const Tool*> ToolUse::callable() const {
  std::vector<const Tool*> out;
  for (const Tool& t : tools)
    if (may_call(t.name)) out.push_back(&t);
  return out;
}

Json ToolUse::json() const {
  Json list = Json::array();
  for (const Tool& t : tools) {
    Json function = Json::object(), one = Json::object();
    function.set("name", t.name), function.set("description", t.description);
    function.set("parameters", t.parameters);
    one.set("type", "function"), one.set("function", std::move(function));
    list.push(std::move(one));
  }
  return list;
}

ToolUse read_tools(const Fields& f) {
  ToolUse use;
  if (const Json* list = f.find("tools")) {
    if (!list->is_array()) bad_field("tools", "expected a list");
    if (list->as_array().size() > kMaxTools)
      bad_field("tools", "{} of them, at most {}", list->as_array().size(), kMaxTools);
    for (const Json& j : list->as_array()) {
      const std::string where = fmt::format("tools[{}]", use.tools.size());
      Tool t = read_tool(j, where);
      if (use.find(t.name)) bad_field(where, "'{}' is there twice", t.name);
      use.tools.push_back(std::move(t));
    }
  }
  if (const Json* choice = f.find("tool_choice")) read_choice(*choice, use);
  if (use.tools.empty() && use.choice == ToolUse::Choice::required)
    bad_field("tool_choice", "a call is required, but there are no tools");
  use.parallel = f.boolean("parallel_tool_calls").value_or(true);
  return use;
}

Json ToolCall::json() const {
  Json function = Json::object(), j = Json::object();
  function.set("name", name), function.set("arguments", arguments);
  j.set("id", id), j.set("type", "function"), j.set("function", std::move(function));
  return j;
}

Json read_tool_calls(const Json& list, const std::string& where) {
  if (!list.is_array()) bad_field(where, "expected a list");
  Json out = Json::array();
  for (const Json& call : list.as_array()) {
    const std::string at = fmt::format("{}[{}]", where, out.as_array().size());
    const Json* function = call.find("function");
    if (!function) bad_field(at, "expected an object with a function");
    const Fields f(*function);
    const std::string name = f.text("name").value_or("");
    if (!good_name(name)) bad_field(at + ".function.name", "expected the name of a function");
    const Json* given = f.find("arguments");
    Json arguments = given ? *given : Json::object();
    if (arguments.is_string()) {
      try {
        const std::string text = arguments.as_string();
        arguments = text.empty() ? Json::object() : Json::parse(text);
      } catch (const Error& e) {
        bad_field(at + ".function.arguments", "not JSON: {}", e.what());
      }
    }
    if (!arguments.is_object()) bad_field(at + ".function.arguments", "expected a JSON object, or the text of one");
    Json one = Json::object(), named = Json::object();
    named.set("name", name), named.set("arguments", std::move(arguments));
    if (const auto id = Fields(call).text("id")) one.set("id", *id);
    one.set("type", "function"), one.set("function", std::move(named));
    out.push(std::move(one));
  }
  return out;
}

}  // namespace quern::serve
