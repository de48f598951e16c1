// Reads and checks messages in the OpenAI form.
#include "quern/serve/chat/chat_messages.h"

#include "quern/serve/wire/api_error.h"

namespace quern::serve {
namespace {

std::string joined_parts(const Json::Array& parts, const std::string& where) {
  std::string text;
  for (size_t k = 0; k < parts.size(); ++k) {
    const std::string at = fmt::format("{}.content[{}]", where, k);
    const Json* type = parts[k].find("type");
    if (!type || !type->is_string()) bad_field(at, "expected an object with a type");
    const std::string& t = type->as_string();
    if (t != "text" && t != "input_text" && t != "output_text" && t != "refusal")
      bad_field(at, "type '{}' is not supported: this server reads text only", t);
    const Json* piece = parts[k].find(t == "refusal" ? "refusal" : "text");
    if (!piece || !piece->is_string()) bad_field(at, "expected a text");
    text += piece->as_string();
  }
  return text;
}

}  // namespace

Json read_messages(const Json& body) {
  const Json* list = body.find("messages");
  if (!list || !list->is_array() || list->as_array().empty())
    bad_field("messages", "expected a list with at least one message");
  Json out = Json::array();
  for (size_t i = 0; i < list->as_array().size(); ++i) {
    const Json& m = list->as_array()[i];
    const std::string where = fmt::format("messages[{}]", i);
    const Json* role = m.find("role");
    if (!role || !role->is_string()) bad_field(where, "expected an object with a role");
    std::string r = role->as_string();
    if (r == "developer") r = "system";
    if (r != "system" && r != "user" && r != "assistant" && r != "tool")
      bad_field(where + ".role", "'{}' is unknown, expected system, developer, user, assistant or tool", r);
    const Json* content = m.find("content");
    if (const Json* f = m.find("function_call"); f && !f->is_null())
      bad_field(where + ".function_call", "is not supported: use tool_calls");
    Json one = Json::object();
    one.set("role", r);
    if (content && content->is_string())
      one.set("content", content->as_string());
    else if (content && content->is_array())
      one.set("content", joined_parts(content->as_array(), where));
    else if (!content || content->is_null())
      one.set("content", r == "assistant" ? std::string() : (bad_field(where, "expected a content"), std::string()));
    else
      bad_field(where + ".content", "expected a string or a list of parts");
    for (const char* extra : {"name", "tool_call_id", "reasoning_content"})
      if (const Json* v = m.find(extra); v && v->is_string()) one.set(extra, v->as_string());
    if (const Json* calls = m.find("tool_calls"); calls && !calls->is_null()) {
      if (r != "assistant") bad_field(where + ".tool_calls", "only an assistant calls tools");
      Json list = read_tool_calls(*calls, where + ".tool_calls");
      if (!list.as_array().empty()) one.set("tool_calls", std::move(list));
    }
    out.push(std::move(one));
  }
  return out;
}

Json tools_in_words(const Json& messages, const ToolUse& use) {
  std::string guide = "You may call these functions:\n";
  const Json tools = use.json();
  for (const Json& t : tools.as_array()) guide += t.at("function").dump() + "\n";
  guide +=
      "A call is written like this, and its result follows between <tool_response> and </tool_response>:\n"
      "<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"PARAMETER\": VALUE}}\n</tool_call>";
  Json out = Json::array();
  auto add = [&](const char* role, const std::string& content) {
    Json m = Json::object();
    m.set("role", role), m.set("content", content);
    out.push(std::move(m));
  };
  bool told = !use.active(), results = false;  // results: the last message gathers those of one turn
  for (const Json& m : messages.as_array()) {
    const std::string& role = m.at("role").as_string();
    std::string content = m.at("content").as_string();
    if (!told && role != "system") add("system", guide), told = true;
    if (role == "tool") {
      content = "<tool_response>\n" + content + "\n</tool_response>";
      Json* last = results ? &out.items().back() : nullptr;
      if (last)
        last->set("content", last->at("content").as_string() + "\n" + content);
      else
        add("user", content);
      results = true;
      continue;
    }
    results = false;
    Json one = m;
    if (!told) content += (content.empty() ? "" : "\n\n") + guide, told = true;
    if (const Json* calls = m.find("tool_calls")) {
      for (const Json& c : calls->as_array()) {
        Json call = Json::object();
        call.set("name", c.at("function").at("name")), call.set("arguments", c.at("function").at("arguments"));
        content += (content.empty() ? "" : "\n") + ("<tool_call>\n" + call.dump()) + "\n</tool_call>";
      }
      one.erase("tool_calls");
    }
    one.set("content", content);
    out.push(std::move(one));
  }
  return out;
}

}  // namespace quern::serve
