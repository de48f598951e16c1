// Converts Anthropic messages to the OpenAI form: tool results become messages of their own, blocks become texts and
// calls.
#include "quern/serve/api/messages_api.h"
#include "quern/serve/wire/generation_fields.h"

namespace quern::serve {
namespace {

std::string type_of(const Json& block, const std::string& where) {
  const Json* type = block.find("type");
  if (!type || !type->is_string()) bad_field(where, "expected an object with a type");
  return type->as_string();
}

std::string text_of(const Json& block, const char* field, const std::string& where) {
  const Json* text = block.find(field);
  if (!text || !text->is_string()) bad_field(fmt::format("{}.{}", where, field), "expected a string");
  return text->as_string();
}

// A string, or blocks of type text alone.
std::string plain_text(const Json* j, const std::string& where) {
  if (!j || j->is_null()) return {};
  if (j->is_string()) return j->as_string();
  if (!j->is_array()) bad_field(where, "expected a string or a list of text blocks");
  std::string all;
  for (size_t i = 0; i < j->as_array().size(); ++i) {
    const Json& block = j->as_array()[i];
    const std::string at = fmt::format("{}[{}]", where, i);
    if (const std::string type = type_of(block, at); type != "text")
      bad_field(at, "type '{}' is not supported here: this server reads text only", type);
    all += (i > 0 ? "\n" : "") + text_of(block, "text", at);
  }
  return all;
}

Json message(const char* role, const std::string& content) {
  Json m = Json::object();
  m.set("role", role), m.set("content", content);
  return m;
}

void add_user(const Json::Array& blocks, const std::string& where, Json& out) {
  std::string said;
  bool any = false;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::string at = fmt::format("{}.content[{}]", where, i), type = type_of(blocks[i], at);
    if (type == "text") {
      said += (any ? "\n" : "") + text_of(blocks[i], "text", at);
      any = true;
    } else if (type == "tool_result") {
      std::string result = plain_text(blocks[i].find("content"), at + ".content");
      if (const Json* bad = blocks[i].find("is_error"); bad && *bad == Json(true)) result = "Error: " + result;
      Json m = message("tool", result);
      m.set("tool_call_id", text_of(blocks[i], "tool_use_id", at));
      out.push(std::move(m));
    } else {
      bad_field(at, "type '{}' is not supported: this server reads text and tool results", type);
    }
  }
  if (any || blocks.empty()) out.push(message("user", said));
}

void add_assistant(const Json::Array& blocks, const std::string& where, Json& out) {
  std::string said, thought;
  Json calls = Json::array();
  for (size_t i = 0; i < blocks.size(); ++i) {
    const std::string at = fmt::format("{}.content[{}]", where, i), type = type_of(blocks[i], at);
    if (type == "text") {
      said += text_of(blocks[i], "text", at);
    } else if (type == "thinking") {
      thought += text_of(blocks[i], "thinking", at);
    } else if (type == "tool_use") {
      Json function = Json::object(), call = Json::object();
      const Json* input = blocks[i].find("input");
      if (!input || !input->is_object()) bad_field(at + ".input", "expected an object");
      function.set("name", text_of(blocks[i], "name", at)), function.set("arguments", *input);
      call.set("id", text_of(blocks[i], "id", at)), call.set("type", "function"), call.set("function", function);
      calls.push(std::move(call));
    } else {
      bad_field(at, "type '{}' is not supported: this server reads text, thinking and tool_use", type);
    }
  }
  Json m = message("assistant", said);
  if (!thought.empty()) m.set("reasoning_content", thought);
  if (!calls.as_array().empty()) m.set("tool_calls", std::move(calls));
  out.push(std::move(m));
}

Json read_turns(const Json& body) {
  Json out = Json::array();
  if (const Json* system = body.find("system"); system && !system->is_null())
    out.push(message("system", plain_text(system, "system")));
  const Json* list = body.find("messages");
  if (!list || !list->is_array() || list->as_array().empty())
    bad_field("messages", "expected a list with at least one message");
  for (size_t i = 0; i < list->as_array().size(); ++i) {
    const Json& m = list->as_array()[i];
    const std::string where = fmt::format("messages[{}]", i);
    const Json* role = m.find("role");
    const Json* content = m.find("content");
    const bool user = role && *role == Json("user"), assistant = role && *role == Json("assistant");
    if (!user && !assistant) bad_field(where + ".role", "expected user or assistant");
    if (content && content->is_string())
      out.push(message(user ? "user" : "assistant", content->as_string()));
    else if (!content || !content->is_array())
      bad_field(where + ".content", "expected a string or a list of blocks");
    else if (user)
      add_user(content->as_array(), where, out);
    else
      add_assistant(content->as_array(), where, out);
  }
  const Json& last = out.as_array().back();
  if (last.at("role") == Json("assistant"))
    bad_field("messages", "the last message is the assistant's: prefilling its answer is not supported");
  return out;
}

Json read_anthropic_tools(const Json& list) {
  if (!list.is_array()) bad_field("tools", "expected a list");
  Json out = Json::array();
  for (size_t i = 0; i < list.as_array().size(); ++i) {
    const Json& t = list.as_array()[i];
    const std::string where = fmt::format("tools[{}]", i);
    if (const Json* type = t.find("type"); type && !type->is_null() && *type != Json("custom"))
      bad_field(where + ".type", "{} is not supported: this server has no built-in tools", type->dump());
    const Json* schema = t.find("input_schema");
    if (!schema || !schema->is_object()) bad_field(where + ".input_schema", "expected a JSON Schema, an object");
    Json function = Json::object(), one = Json::object();
    function.set("name", text_of(t, "name", where)), function.set("parameters", *schema);
    if (const Json* d = t.find("description")) function.set("description", *d);
    one.set("type", "function"), one.set("function", std::move(function));
    out.push(std::move(one));
  }
  return out;
}

void read_anthropic_choice(const Json& choice, Json& out) {
  const std::string type = type_of(choice, "tool_choice");
  if (type == "auto" || type == "none") {
    out.set("tool_choice", type);
  } else if (type == "any") {
    out.set("tool_choice", "required");
  } else if (type == "tool") {
    Json named = Json::object(), function = Json::object();
    function.set("name", text_of(choice, "name", "tool_choice"));
    named.set("type", "function"), named.set("function", std::move(function));
    out.set("tool_choice", std::move(named));
  } else {
    bad_field("tool_choice.type", "'{}': expected auto, any, tool or none", type);
  }
  if (Fields(choice).boolean("disable_parallel_tool_use").value_or(false)) out.set("parallel_tool_calls", false);
}

}  // namespace

Json chat_body_of_messages(const Json& body) {
  const Fields f(body);
  for (const char* field : {"mcp_servers", "container", "context_management"})
    if (f.find(field)) bad_field(field, "is not supported by this server");
  Json out = Json::object();
  out.set("messages", read_turns(body));
  if (const Json* tools = f.find("tools")) out.set("tools", read_anthropic_tools(*tools));
  if (const Json* choice = f.find("tool_choice")) read_anthropic_choice(*choice, out);
  for (const char* same : {"model", "max_tokens", "temperature", "top_p", "top_k", "stream", "seed", "x_think",
                           "x_memory", "x_documents", "timeout", "return_progress"})
    if (const Json* v = f.find(same)) out.set(same, *v);
  if (const Json* stop = f.find("stop_sequences")) {
    if (!stop->is_array()) bad_field("stop_sequences", "expected a list of strings");
    out.set("stop", *stop);
  }
  if (const Json* thinking = f.find("thinking")) {
    const std::string type = type_of(*thinking, "thinking");
    if (type != "enabled" && type != "disabled" && type != "adaptive")
      bad_field("thinking.type", "'{}': expected enabled, disabled or adaptive", type);
    Json kwargs = Json::object();
    kwargs.set("enable_thinking", type != "disabled");
    out.set("chat_template_kwargs", std::move(kwargs));
    if (const auto budget = Fields(*thinking).integer("budget_tokens", 1, int64_t{1} << 31))
      out.set("thinking_budget", *budget);
  }
  return out;
}

}  // namespace quern::serve
