// Messages of the OpenAI form, checked.
#include "quern/serve/chat_messages.h"

#include "quern/serve/api_error.h"

namespace quern {
namespace {

std::string joined_parts(const Json::Array& parts, const std::string& where) {
  std::string text;
  for (size_t k = 0; k < parts.size(); ++k) {
    const std::string at = fmt::format("{}.content[{}]", where, k);
    const Json* type = parts[k].find("type");
    if (!type || !type->is_string()) bad_field(at, "expected an object with a type");
    const std::string& t = type->as_string();
    if (t != "text" && t != "input_text" && t != "output_text")
      bad_field(at, "type '{}' is not supported: this server reads text alone", t);
    const Json* piece = parts[k].find("text");
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
    out.push(std::move(one));
  }
  return out;
}

}  // namespace quern
